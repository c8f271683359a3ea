// Syntax colors of listings. The tokens have the classes of the lexers in `xla_inspect.lexers`.
"use strict";
{
  // The rules of each language in order: `[class, pattern]`. The classes are the site's; plain text has none.
  const STRING = ["s", /"(?:\\.|[^"\\\n])*"/];
  const NUMBER = ["m", /[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)/];
  const SPACE = ["", /\s+/];
  const RULES = {
    hlo: [
      SPACE,
      ["c", /\/\*.*?\*\/|\/\/.*/],
      ["kd", /^HloModule(?= )|^(?:FileNames|FunctionNames|FileLocations|StackFrames)$/],
      ["nn", /(?<=^HloModule +)[\w.$<>-]+/],
      ["k", /(?:ENTRY|ROOT)\b/],
      ["carried", /(?:metadata|backend_config|frontend_attributes|origin)=(?=\{)/],
      STRING,
      ["nv", /%[\w.$-]+/],
      ["kt", /\b(?:pred|token|opaque|[suf]\d+\w*|bf16|c64|c128)\[[\d,<=? ]*\](?:\{[\d,]*(?::[^{}\n]*)?\})?/],
      ["kc", /(?:true|false|inf|nan|-inf|-nan)\b/],
      ["na", /[A-Za-z_]\w*(?==)/],
      ["nf", /[a-z][\w-]*(?=\()/],
      ["no", /k[A-Z]\w*/],
      ["", /->|=>/],
      NUMBER,
      ["", /[A-Za-z_][\w.$/-]*/],
    ],
    stablehlo: [
      SPACE,
      ["c", /\/\/.*|loc\(#loc\d*\)|\{-#.*?#-\}/],
      STRING,
      ["nf", /@(?:[\w.$-]+|"[^"\n]*")/],
      ["nv", /%[\w.$-]+(?:#\d+)?/],
      ["nl", /\^\w+/],
      ["kt", /(?:tensor|memref|vector|tuple|complex)<(?:[^<>\n]|<(?:[^<>\n]|<[^<>\n]*>)*>)*>|![\w.$]+/],
      ["no", /#[\w.$]+/],
      ["kt", /(?:[suf]?i\d+|[suf]\d+\w*|bf16|index|none|tf32)\b/],
      ["nf", /[a-zA-Z_]\w*(?:\.[\w$]+)+/],
      ["k", /(?:module|func|return|attributes|private|public|cond|do|applies|across|dims|true|false|unit)\b/],
      ["na", /[a-zA-Z_][\w$]*(?= ?=)/],
      ["", /->/],
      ["m", /0x[0-9A-Fa-f]+/],
      NUMBER,
      ["", /[a-zA-Z_][\w$-]*/],
    ],
    jaxpr: [
      SPACE,
      ["c", /# .*/],
      ["k", /(?:lambda|let|in)\b/],
      STRING,
      ["s", /'(?:\\.|[^'\\\n])*'/],
      ["kt", /(?:[A-Z]\w*\{)?[a-z]+\d*\w*(?:<[\w,]+>)?\[[^\]\[=]*\]\}?(?=[\s.)};,]|$)/],
      ["nf", /(?<== )[a-z_][\w-]*(?=\[|\s|$)|(?<=^\s+)[a-z_][\w-]*(?=\[)/],
      ["na", /[a-zA-Z_]\w*(?==)/],
      ["kc", /(?:True|False|None|inf|nan|-inf)\b/],
      NUMBER,
      ["c", /<[\w .]+ at 0x[0-9a-f]+>/],
      ["", /[A-Za-z_][\w.]*/],
    ],
    python: [
      SPACE,
      ["c", /#.*/],
      ["s", /[rRbBfFuU]{0,2}(?:"""[^]*?(?:"""|$(?![^]))|'''[^]*?(?:'''|$(?![^]))|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')/],
      ["nd", /(?<=^\s*)@[\w.]+/],
      ["nf", /(?<=\bdef +)\w+/],
      ["nc", /(?<=\bclass +)\w+/],
      ["nn", /(?<=^\s*(?:from|import) +)[\w.]+|(?<=^\s*import .*\bas +)\w+/],
      ["kc", /(?:True|False|None)\b/],
      ["k", /(?:and|in|is|not|or)\b/],
      ["k", /(?:as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|lambda|nonlocal|pass|raise|return|try|while|with|yield)\b/],
      ["vm", /__(?:name|file|doc|dict|module|all)__\b/],
      ["bp", /(?<!\.)(?:self|cls)\b/],
      ["nb", /(?<!\.)(?:abs|all|any|bool|bytes|callable|dict|dir|divmod|enumerate|eval|filter|float|format|frozenset|getattr|hasattr|hash|hex|id|int|isinstance|iter|len|list|locals|map|max|min|next|object|open|ord|pow|print|property|range|repr|reversed|round|set|setattr|slice|sorted|staticmethod|str|sum|super|tuple|type|vars|zip)\b/],
      ["m", /(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)j?/],
      ["", /[A-Za-z_]\w*/],
      ["o", /->|:=|!=|==|<<|>>|[-~+/*%=<>&^|.@]/],
    ],
  };

  const compiled = new Map();
  const compile = (language) => {
    if (!compiled.has(language)) {
      const pattern = RULES[language].map(([, it]) => `(${it.source})`).join("|");
      compiled.set(language, [RULES[language].map(([name]) => name), new RegExp(pattern, "gm")]);
    }
    return compiled.get(language);
  };

  // Return the end of an attribute's value in braces, which may contain nested braces and strings.
  const endOfBraces = (text, from) => {
    let depth = 0;
    for (let at = from; at < text.length; at++) {
      if (text[at] === '"') while (++at < text.length && text[at] !== '"') at += text[at] === "\\";
      else if (text[at] === "{") depth++;
      else if (text[at] === "}" && --depth === 0) return at + 1;
    }
    return text.length;
  };

  // Split a text into pieces, `[class, piece]`. Adjacent plain text is one piece.
  const tokenize = (text, language) => {
    const [names, pattern] = compile(language);
    const found = [];
    let plain = 0;
    const put = (name, from, to) => {
      if (from > plain) found.push(["", text.slice(plain, from)]);
      found.push([name, text.slice(from, to)]);
      plain = to;
    };
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      let rule = 1;
      while (match[rule] === undefined) rule++;
      const name = names[rule - 1];
      if (!match[0]) pattern.lastIndex++;
      if (!name) continue;
      if (name === "carried") pattern.lastIndex = endOfBraces(text, pattern.lastIndex);
      put(name === "carried" ? "c" : name, match.index, pattern.lastIndex);
    }
    if (plain < text.length) found.push(["", text.slice(plain)]);
    return found;
  };

  // Tokenize lines as one text, because a token may span lines. Return the pieces of each line.
  const tokenizeLines = (lines, language) => {
    const made = [[]];
    for (const [name, piece] of tokenize(lines.join("\n"), language))
      piece.split("\n").forEach((each, at) => {
        if (at) made.push([]);
        if (each) made.at(-1).push([name, each]);
      });
    return made;
  };

  // Create nodes that show pieces, as text only. `mark` returns the attributes of an element, given the class, the
  // piece and its position.
  const paint = (tokens, mark) => {
    const { element } = globalThis.xlaExplorer;
    return tokens.map(([name, piece], at) => {
      const attributes = mark ? mark(name, piece, at) : name && { class: name };
      return attributes ? element("span", attributes, piece) : piece;
    });
  };

  Object.assign((globalThis.xlaExplorer ??= {}), { tokenize, tokenizeLines, paint });
}
