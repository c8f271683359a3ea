// Finds the sentences of a page that rest on a check which fails, and marks them.
"use strict";
{
  const HOSTS = "p, li, dd, td, th, figcaption, summary, blockquote";
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const GAP = "\u0001";

  // A sentence as it is written, as a pattern of what a page shows: values and footnotes may be anything.
  const toPattern = (written) => {
    const plain = written
      .replace(/(`+)\s?=\s.+?\1/g, GAP)
      .replace(/\[\^[^\]]*\]/g, GAP)
      .replace(/\{:?\s*[#.][^}]*\}/g, "")
      .replace(/<[^>]*>/g, "")
      .replace(/!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
      .replace(/(`+)\s?(.+?)\s?\1/g, "$2")
      .replace(/\*\*|__|\*|\\(?=[|*_`])/g, "")
      .trim();
    const pattern = plain
      .split(GAP)
      .map((part) => part.split(/\s+/).map(escape).join("\\s+"))
      .join("[^]{0,200}?");
    return pattern.length > 3 ? new RegExp(pattern) : null;
  };

  // The texts of an element, without the marks of checks, one after the other.
  const listTexts = (host) => {
    const walker = document.createTreeWalker(host, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest("button, .edit-note") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
    );
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    return texts;
  };

  const wrap = (texts, from, to, name, title) => {
    let at = 0;
    for (const text of texts) {
      const end = at + text.data.length;
      const [start, stop] = [Math.max(from, at), Math.min(to, end)];
      at = end;
      // A value is made anew, and is right by itself.
      if (start >= stop || text.parentElement.closest(".value, .edit-was")) continue;
      const inner = text.splitText(start - (end - text.data.length));
      inner.splitText(stop - start);
      const mark = document.createElement(name);
      mark.className = "edit-untrue";
      mark.title = title;
      inner.replaceWith(mark);
      mark.append(inner);
    }
  };

  // Marks a sentence among some elements, and returns the element that it stands in, or null.
  const markSentence = (roots, written, { alone, title }) => {
    const pattern = written.startsWith("labels: ") ? null : toPattern(written);
    if (!pattern) return null;
    const hosts = roots.flatMap((root) => [...(root.matches(HOSTS) ? [root] : []), ...root.querySelectorAll(HOSTS)]);
    for (const host of hosts.reverse()) {
      const texts = listTexts(host);
      const found = pattern.exec(texts.map((text) => text.data).join(""));
      if (!found) continue;
      wrap(texts, found.index, found.index + found[0].length, alone ? "del" : "span", title);
      return host;
    }
    return null;
  };

  Object.assign((globalThis.pageEdits ??= {}), { markSentence });
}
