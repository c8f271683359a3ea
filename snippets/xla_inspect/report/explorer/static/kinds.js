// Kinds of kernels: a colour that the colour-blind tell apart, a letter and a pattern, the same in all views and schemes.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const LETTERS = { kLoop: "L", kInput: "I", kOutput: "O", kCustom: "C", library: "M", move: "D", control: "F", collective: "X", other: "–" };

  const letterOf = (kind) => LETTERS[kind] ?? LETTERS.other;
  const badge = (kind) => element("i", { class: `badge ${kind}`, "aria-hidden": "true" }, letterOf(kind));

  // What each kind is called, with how many there are of it.
  const legend = (kinds, names) => {
    const numbers = new Map();
    for (const kind of kinds) numbers.set(kind, (numbers.get(kind) ?? 0) + 1);
    return element("p", { class: "keys" }, ...[...numbers].map(([kind, all]) => element("span", { class: "key" }, badge(kind), ` ${all} ${names[kind] ?? kind}`)));
  };

  // A long name may break where its parts meet, and nowhere else as long as there is room.
  const breakable = (name) => name.split(/(?<=[_-])|(?=\.)/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));

  Object.assign(globalThis.xlaExplorer, { letterOf, badge, legend, breakable });
}
