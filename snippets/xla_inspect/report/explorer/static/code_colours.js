// Syntax colors of code below HLO: comments, value names, numbers, labels and opcodes.
"use strict";
{
  const COMMENT = { llvm: ";.*", "llvm-unoptimized": ";.*", ptx: "\\/\\/.*", sass: "\\/\\/.*|\\/\\*[0-9a-f]+\\*\\/", asm: "[#;].*", triton: "\\/\\/.*", bundles: "\\/\\*.*?\\*\\/", hlo: "\\/\\*.*?\\*\\/" };
  const REST = [
    ["string", '"[^"]*"'],
    ["name", "[%#@$!][\\w.$-]+"],
    ["label", "^\\s*[.$\\w]+:"],
    ["type", "\\b(?:[sufib]f?\\d+(?:x\\d+)?|bf16|float|double|half|ptr|tensor|memref|pred)\\b"],
    ["number", "\\b(?:0x[0-9a-fA-F]+|0[fd][0-9A-F]{8,}|\\d[\\d.]*(?:[eE][+-]?\\d+)?)\\b"],
    ["word", "(?<=^\\s+(?:@!?%?\\w+\\s+)?|= (?:tail )?|\\*\\/\\s+(?:@!?U?P\\d+ )?|;;  |: +\\{ +)[a-zA-Z_][\\w.:]*"],
  ];
  const patterns = new Map();

  const patternOf = (language) => {
    if (!patterns.has(language)) {
      const kinds = [["comment", COMMENT[language] ?? "\\/\\/.*"], ...REST];
      patterns.set(language, new RegExp(kinds.map(([kind, text]) => `(?<${kind}>${text})`).join("|"), "g"));
    }
    return patterns.get(language);
  };

  // Split a line into strings and elements. Each element has the class of its token.
  const colour = (line, language) => {
    const [parts, long] = [[], 2000];
    let at = 0;
    for (const found of line.length > long ? [] : line.matchAll(patternOf(language))) {
      const kind = Object.keys(found.groups).find((each) => found.groups[each] !== undefined);
      if (found.index > at) parts.push(line.slice(at, found.index));
      const made = document.createElement("span");
      made.className = `c-${kind}`;
      made.textContent = found[0];
      parts.push(made);
      at = found.index + found[0].length;
    }
    return [...parts, line.slice(at)];
  };

  Object.assign(globalThis.xlaExplorer, { colour });
}
