// A long list with only its visible part in the DOM: pieces of rows, with spacers of equal height for the others.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const PIECE = 16; // items that are added and removed together
  const AROUND = 240; // pixels above and below the visible part that are also drawn
  const [ROW, PAD] = [18, 6]; // pixels: the height of a line of text, and the padding of a row
  const PRINTED = 3000; // the most rows of a list to print

  // The lists of each scroll container. The next scroll drops the lists that were removed from the page.
  const scrolled = new WeakMap();
  const all = new Set();
  const listen = (scroller, list) => {
    if (!scrolled.has(scroller)) {
      scrolled.set(scroller, new Set());
      scroller.addEventListener("scroll", () => {
        for (const each of [...scrolled.get(scroller)])
          if (each.root.isConnected) each.update();
          else scrolled.get(scroller).delete(each);
      }, { passive: true });
    }
    scrolled.get(scroller).add(list);
  };
  globalThis.addEventListener?.("beforeprint", () => {
    for (const each of [...all]) if (each.root.isConnected) each.print();
  });
  globalThis.addEventListener?.("afterprint", () => {
    for (const each of [...all]) each.endPrint();
  });

  // Return the width of a character in an element's font, measured once.
  let wide = 0;
  const measure = (root) => {
    if (!wide) {
      const probe = element("span", { style: "position: absolute; visibility: hidden; white-space: pre" }, "0".repeat(100));
      root.append(probe);
      wide = probe.getBoundingClientRect().width / 100;
      probe.remove();
    }
    return wide || 7.2;
  };

  class VirtualRows {
    // `make` returns the element of an item, which is added to `root`. `guess` estimates the height of an item for a
    // number of characters per line. `spacer` is the tag name of the element that replaces undrawn items.
    constructor(root, items, make, { guess = (item, columns) => ROW * Math.ceil(item.length / columns) + PAD, spacer = "li", piece = PIECE, onDraw } = {}) {
      Object.assign(this, { root, make, guess, spacer, piece, onDraw, columns: 80, total: items.length });
      root.classList.add("virtual");
      this.pieces = this.cut(items);
      root.append(...this.pieces.flatMap((it) => it.nodes));
      // The observer reports when the list enters the page and when its width changes.
      this.watcher = new ResizeObserver(() => this.resize());
      this.watcher.observe(root);
      this.draw(this.pieces[0]);
    }

    cut(items) {
      const pieces = [];
      for (let at = 0; at < items.length; at += this.piece) {
        const it = { items: items.slice(at, at + this.piece), isDrawn: false };
        it.nodes = [element(this.spacer, { class: "space", "aria-hidden": "true" })];
        this.size(it);
        pieces.push(it);
      }
      return pieces;
    }

    size(piece, height = piece.items.reduce((sum, item) => sum + this.guess(item, this.columns), 0)) {
      piece.nodes[0].style.height = `${height}px`;
    }

    resize() {
      if (!this.root.isConnected || !this.root.clientWidth) return;
      if (!this.scroller) {
        this.scroller = this.root.closest(".pane") ?? document.scrollingElement;
        listen(this.scroller, this);
        all.add(this);
      }
      const columns = Math.max(Math.floor((this.root.clientWidth - 40) / measure(this.root)), 10);
      if (columns !== this.columns) {
        this.columns = columns;
        for (const piece of this.pieces) if (!piece.isDrawn) this.size(piece);
      }
      this.update();
    }

    // Draw the visible pieces and remove the others.
    update() {
      if (this.isPrinting) return;
      for (let turn = 0; turn < 4; turn++) {
        const { top, bottom } = this.scroller.getBoundingClientRect();
        const near = this.find(top - AROUND, bottom + AROUND);
        const missing = near.filter((it) => !it.isDrawn);
        if (!missing.length) {
          const isNear = new Set(near);
          const active = this.root.getRootNode().activeElement;
          for (const it of this.pieces)
            if (it.isDrawn && !isNear.has(it) && !it.nodes.some((node) => node.contains(active))) this.remove(it);
          return;
        }
        for (const it of missing) this.draw(it);
      }
    }

    // Return the pieces between two vertical positions of the window.
    find(top, bottom) {
      let [low, high] = [0, this.pieces.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.pieces[middle].nodes.at(-1).getBoundingClientRect().bottom < top) low = middle + 1;
        else high = middle;
      }
      const found = [];
      for (let at = low; at < this.pieces.length && this.pieces[at].nodes[0].getBoundingClientRect().top <= bottom; at++) found.push(this.pieces[at]);
      return found;
    }

    draw(piece) {
      if (!piece || piece.isDrawn) return;
      let before = 0;
      for (const it of this.pieces) {
        if (it === piece) break;
        before += it.items.length;
      }
      const nodes = piece.items.map((item, at) => {
        const node = this.make(item);
        if (node.localName === "li") {
          node.setAttribute("aria-setsize", this.total);
          node.setAttribute("aria-posinset", before + at + 1);
        }
        return node;
      });
      piece.nodes[0].replaceWith(...nodes);
      Object.assign(piece, { nodes, isDrawn: true });
      this.onDraw?.(nodes);
    }

    remove(piece) {
      const height = piece.nodes.at(-1).getBoundingClientRect().bottom - piece.nodes[0].getBoundingClientRect().top;
      const space = element(this.spacer, { class: "space", "aria-hidden": "true" });
      piece.nodes[0].before(space);
      for (const node of piece.nodes) node.remove();
      Object.assign(piece, { nodes: [space], isDrawn: false });
      this.size(piece, height);
    }

    // Add an item and the items around it to the DOM. Return the element of the item.
    ensure(isMeant) {
      const at = this.pieces.findIndex((it) => it.items.some(isMeant));
      if (at < 0) return null;
      for (const it of this.pieces.slice(Math.max(at - 1, 0), at + 2)) this.draw(it);
      return this.pieces[at].nodes[this.pieces[at].items.findIndex(isMeant)];
    }

    findItem(isMeant) {
      for (const it of this.pieces) {
        const found = it.items.find(isMeant);
        if (found) return found;
      }
      return null;
    }

    // Draw the first or the last item, for a key that moves the focus there.
    ensureEnd(isLast) {
      this.draw(this.pieces.at(isLast ? -1 : 0));
    }

    // Draw the items around the focused element, so that the next key finds them.
    ensureAround(node) {
      const at = this.pieces.findIndex((it) => it.isDrawn && it.nodes.some((each) => each.contains(node)));
      if (at >= 0) for (const it of this.pieces.slice(Math.max(at - 1, 0), at + 2)) this.draw(it);
    }

    // Replace an item with other items. Return the element of the first one.
    replace(item, items) {
      const at = this.pieces.findIndex((it) => it.items.includes(item));
      const old = this.pieces[at];
      const place = old.items.indexOf(item);
      const cut = this.cut([...old.items.slice(0, place), ...items, ...old.items.slice(place + 1)]);
      this.total += items.length - 1;
      old.nodes[0].before(...cut.flatMap((it) => it.nodes));
      for (const node of old.nodes) node.remove();
      this.pieces.splice(at, 1, ...cut);
      const made = this.ensure((each) => each === items[0]);
      if (this.scroller) this.update();
      return made;
    }

    // Draw all rows for printing, up to a limit, and say so if rows are missing.
    print() {
      this.isPrinting = true;
      let rows = 0;
      for (const it of this.pieces) {
        rows += it.items.length;
        if (rows <= PRINTED) this.draw(it);
        else if (!it.isDrawn) it.nodes[0].hidden = true;
      }
      if (rows > PRINTED) {
        this.said = element(this.spacer, { class: "more" }, `Printed: the first ${PRINTED.toLocaleString("en")} of ${this.total.toLocaleString("en")} rows.`);
        this.root.prepend(this.said);
      }
    }

    endPrint() {
      if (!this.root.isConnected) return void all.delete(this);
      if (!this.isPrinting) return;
      this.isPrinting = false;
      this.said?.remove();
      for (const it of this.pieces) if (!it.isDrawn) it.nodes[0].hidden = false;
      this.update();
    }
  }

  Object.assign(globalThis.xlaExplorer, { VirtualRows });
}
