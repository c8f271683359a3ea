// The parts of a page: which of them an edit changes, those of the edit in their place, and the page's own back again.
"use strict";
{
  const { markSentence } = globalThis.pageEdits;
  const BEGINS = "edit: content";
  const ENDS = "edit: end";
  const PLACE = ".program-edit";

  const make = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // The elements of the page's content, before any script changed one.
  const findContent = () => {
    const comments = document.createTreeWalker(document.body, NodeFilter.SHOW_COMMENT);
    while (comments.nextNode()) {
      if (comments.currentNode.data.trim() !== BEGINS) continue;
      const found = [];
      for (let node = comments.currentNode.nextSibling; node && node.data?.trim() !== ENDS; node = node.nextSibling)
        if (node.nodeType === Node.ELEMENT_NODE) found.push(node);
      return found;
    }
    return [];
  };

  // What a script of the page brought to life stays: the place that is edited in, and an explorer of what was recorded.
  const keyOf = (part) => {
    if (part.matches(PLACE)) return `${PLACE} ${part.dataset.file}`;
    return part.matches("[data-explorer]") ? `explorer ${part.dataset.explorer}` : part.outerHTML;
  };

  // The longest list of what two lists have in common, in order, as pairs of places.
  const pairUp = (one, other) => {
    const length = Array.from({ length: one.length + 1 }, () => new Uint32Array(other.length + 1));
    for (let i = one.length - 1; i >= 0; i--)
      for (let j = other.length - 1; j >= 0; j--)
        length[i][j] = one[i] === other[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    const pairs = [];
    for (let i = 0, j = 0; i < one.length && j < other.length; ) {
      if (one[i] === other[j]) pairs.push([i++, j++]);
      else if (length[i + 1][j] >= length[i][j + 1]) i++;
      else j++;
    }
    return pairs;
  };

  // What a reader opened and chose stays so.
  const carryOver = (from, to) => {
    const all = (root, selector) => [...(root.matches(selector) ? [root] : []), ...root.querySelectorAll(selector)];
    const [folds, fresh] = [all(from, "details"), all(to, "details")];
    if (folds.length === fresh.length) fresh.forEach((fold, at) => (fold.open = folds[at].open));
    for (const input of all(from, "input:checked")) {
      const other = input.id && to.querySelector(`#${CSS.escape(input.id)}`);
      if (other) other.checked = true;
    }
  };

  // Values that came to something else are set off, with what the page itself says as their title.
  const setOff = (from, to) => {
    const [old, now] = [from, to].map((part) => [...part.querySelectorAll(".value")]);
    if (old.length !== now.length) return;
    now.forEach((value, at) => {
      if (value.textContent === old[at].textContent) return;
      const was = old[at].textContent;
      value.classList.add("edit-value");
      value.title = `The page says ${was}`;
      value.before(make("del", { className: "edit-was" }, was), " ");
    });
  };

  // The theme puts each plain table of a page into a frame that scrolls; so do we with those of an edit.
  const frameTables = (part) => {
    const framed = make("div", {}, part);
    for (const table of framed.querySelectorAll("table:not([class])")) {
      const inner = make("div", { className: "md-typeset__table" });
      const outer = make("div", { className: "md-typeset__scrollwrap" }, inner);
      table.replaceWith(outer);
      inner.append(table);
    }
    return framed.firstElementChild;
  };

  class PageParts {
    constructor() {
      this.parts = findContent();
      this.keys = this.parts.map(keyOf);
      this.root = this.parts[0]?.parentElement;
      this.swaps = [];
      this.changed = [];
      this.marked = [];
    }

    // The page's own parts, each with the frame that it came to stand in.
    get own() {
      return this.parts.map((part) => {
        while (part.parentElement && part.parentElement !== this.root) part = part.parentElement;
        return part;
      });
    }

    get isChanged() {
      return this.swaps.length > 0 || this.marked.length > 0;
    }

    // Shows what an edit makes of the page. `place` is the element that is edited in; it stays where it is.
    show(html, failures, place) {
      const [focus, top] = [document.activeElement, place.getBoundingClientRect().top];
      this.restore();
      const parsed = new DOMParser().parseFromString(`<body>${html}</body>`, "text/html");
      const fresh = [...parsed.body.children].map((part) => document.importNode(part, true));
      const own = this.own;
      const pairs = [...pairUp(this.keys, fresh.map(keyOf)), [own.length, fresh.length]];
      let [i, j] = [0, 0];
      for (const [nextOwn, nextFresh] of pairs) {
        if (i < nextOwn || j < nextFresh) this.swap(own.slice(i, nextOwn), fresh.slice(j, nextFresh), own[i - 1] ?? null, place);
        [i, j] = [nextOwn + 1, nextFresh + 1];
      }
      this.tell(failures);
      this.keepPlace(place, top, focus);
      document.dispatchEvent(new CustomEvent("page:parts", { detail: this.changed }));
    }

    // Puts fresh parts in the place of some of the page's own; a place to edit in is moved into them, and never lost.
    swap(own, fresh, before, place) {
      const kept = own.filter((part) => part.matches(PLACE));
      const gone = own.filter((part) => !kept.includes(part));
      const added = fresh.filter((part) => !part.matches(PLACE)).map(frameTables);
      if (!gone.length && !added.length) return;
      const mark = make("span", { hidden: true });
      if (own.length) own[0].before(mark);
      else if (before) before.after(mark);
      else this.root.prepend(mark);
      mark.after(...added);
      const host = gone.find((part) => part.contains(place));
      let moved = null;
      if (host) {
        const target = added.map((part) => part.querySelector(`${PLACE}[data-file="${CSS.escape(place.dataset.file)}"]`)).find(Boolean);
        moved = make("span", { hidden: true });
        place.before(moved);
        if (target) target.replaceWith(place);
        else mark.before(place);
      }
      added.forEach((part, at) => {
        const other = gone[at];
        if (other?.tagName === part.tagName) {
          carryOver(other, part);
          setOff(other, part);
        }
        part.classList.add("from-edit");
      });
      for (const part of gone) part.remove();
      this.swaps.push({ mark, gone, added, moved, place });
      this.changed.push(...added);
    }

    // Says at each part what it came to that did not go well, and which sentences no longer hold.
    tell(failures) {
      const roots = this.parts.filter((part) => part.isConnected).concat(this.changed);
      const inOrder = (selector) => this.changed.flatMap((part) => [...(part.matches(selector) ? [part] : []), ...part.querySelectorAll(selector)]);
      const [values, blocks] = [inOrder("span.failed"), inOrder("p.failed")];
      for (const failure of failures) {
        if (failure.kind === "value") {
          const value = values.shift();
          if (value) value.title = failure.error;
        } else if (failure.kind === "block") {
          const note = blocks.shift();
          note?.replaceChildren("Your edit does not make this: ", make("code", {}, failure.error));
        } else this.tellCheck(failure, roots, inOrder("details.check"));
      }
    }

    tellCheck({ title, error, code, is_false: isFalse, sentences }, roots, folds) {
      const said = error.replace(/^AssertionError:?\s*/, "");
      const written = sentences.filter((sentence) => !sentence.startsWith("labels: "));
      const fold = folds.find((each) => each.querySelector("summary")?.textContent.startsWith(title) && !each.dataset.told);
      if (fold) {
        fold.dataset.told = "true";
        fold.classList.add("edit-note");
        fold.open = true;
        fold.querySelector("summary").textContent = `${isFalse ? "Not so for your edit" : "Not checked for your edit"}: ${title}`;
        fold.querySelector("summary").after(make("p", {}, ...(code ? [make("code", {}, code), " "] : []), said ? (isFalse ? `Now: ${said}` : said) : ""));
      }
      if (!isFalse) return;
      const alone = written.length === 1;
      for (const sentence of written) {
        const host = markSentence(roots, sentence, { alone, title: said ? `Not so for your edit: ${said}` : "Not so for your edit" });
        if (host) this.marked.push(host);
      }
    }

    // The page's own parts again.
    restore(place) {
      const [focus, top] = [document.activeElement, place?.getBoundingClientRect().top];
      for (const mark of document.querySelectorAll(".edit-untrue")) {
        const parent = mark.parentNode;
        mark.replaceWith(...mark.childNodes);
        parent.normalize();
      }
      for (const { mark, gone, added, moved, place: edited } of this.swaps.reverse()) {
        mark.after(...gone);
        if (moved) moved.replaceWith(edited);
        for (const part of added) part.remove();
        mark.remove();
      }
      [this.swaps, this.changed, this.marked] = [[], [], []];
      if (place) this.keepPlace(place, top, focus);
    }

    // What is edited stays where it is in the window, and who types goes on.
    keepPlace(place, top, focus) {
      const moved = place.getBoundingClientRect().top - top;
      if (Math.abs(moved) > 1) scrollBy(0, moved);
      if (place.contains(focus) && document.activeElement !== focus) focus.focus({ preventScroll: true });
    }
  }

  Object.assign(globalThis.pageEdits, { PageParts, make });
}
