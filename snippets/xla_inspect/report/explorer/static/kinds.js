// Kinds of kernels. Each has a color that color-blind readers can distinguish, a letter and a pattern. They are the
// same in all views and color schemes.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const LETTERS = { kLoop: "L", kInput: "I", kOutput: "O", kCustom: "C", library: "M", move: "D", control: "F", collective: "X", other: "–" };

  const letterOf = (kind) => LETTERS[kind] ?? LETTERS.other;
  const badge = (kind) => element("i", { class: `badge ${kind}`, "aria-hidden": "true" }, letterOf(kind));

  // List the kinds with their names and counts.
  const legend = (kinds, names) => {
    const numbers = new Map();
    for (const kind of kinds) numbers.set(kind, (numbers.get(kind) ?? 0) + 1);
    return element("p", { class: "keys" }, ...[...numbers].map(([kind, all]) => element("span", { class: "key" }, badge(kind), ` ${all} ${names[kind] ?? kind}`)));
  };

  // Offer line breaks between the parts of a long name.
  const breakable = (name) => name.split(/(?<=[_-])|(?=\.)/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));

  Object.assign(globalThis.xlaExplorer, { letterOf, badge, legend, breakable });
}
