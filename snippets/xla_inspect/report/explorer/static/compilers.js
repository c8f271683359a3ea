// The interface of a compiler: the object through which a page compiles programs. A compiler has
//   programs()           a promise of the available programs: `[{ name, title, code?, function?, arguments? }]`;
//   send(request, tell)  a promise of offers for an explorer, one for each target. The request is
//                        `{ code, function, arguments, targets, options }`, or an entry of `programs()`. A caller that
//                        shows stages as they arrive passes `tell`, which gets the events of `xla-inspect play`;
//                        an event with data also carries its offer;
//   stop()               cancels the requests that were sent.
// `ServerCompiler` compiles on a server on this machine. `RecordedCompiler` answers from recorded captures.
"use strict";
{
  const LEAST = 1 << 16; // bytes; progress is reported only for files of at least this size

  // Fetch JSON from a URL. `tell` receives progress messages for a file of `size` bytes.
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

  // Normalize code for comparison: remove trailing whitespace from each line, and whitespace around the text.
  const normalize = (code = "") => code.replace(/[^\S\n]+$/gm, "").trim();

  Object.assign((globalThis.xlaExplorer ??= {}), { fetchData, normalize });
}
