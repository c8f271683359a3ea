// What stands between a page and what compiles for it: a compiler. Each has
//   programs()           a promise of what one may begin with: `[{ name, title, code?, function?, arguments? }]`;
//   send(request, tell)  a promise of offers for an explorer, one for each target. The request is
//                        `{ code, function, arguments, targets, options }`, or what `programs` gave. Who wants to see
//                        stages as they come gives `tell`, which gets events as `xla-inspect play` sends them, with the
//                        offer where one brings data;
//   stop()               ends what was sent.
// Behind it may stand a server on this machine, captures that were recorded, or one day a compiler in the browser.
"use strict";
{
  const LEAST = 1 << 16; // bytes from which on it is said how far a file is

  // The JSON of an address. `tell` hears how much has come of `size` bytes, as text.
  const fetchData = async (address, { title = "", size = 0, tell } = {}) => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText || "no such file"}`);
    if (!tell || size < LEAST || !answer.body) return answer.json();
    const parts = [];
    let come = 0;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      parts.push(value);
      come += value.length;
      tell(`Loading ${title}: ${Math.min(99, Math.floor((100 * come) / size))} % of ${globalThis.xlaExplorer.size(size)} …`);
    }
    return JSON.parse(parts.join(""));
  };

  // A code as it is compared: line ends and space at the ends of lines count for nothing.
  const normalize = (code = "") => code.replace(/[^\S\n]+$/gm, "").trim();

  Object.assign((globalThis.xlaExplorer ??= {}), { fetchData, normalize });
}
