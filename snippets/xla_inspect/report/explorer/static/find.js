// Search in the text of a pane, including rows that are not in the DOM.
"use strict";
{
  const { element, bring } = globalThis.xlaExplorer;

  class Find {
    constructor(pane) {
      Object.assign(this, { pane, hits: [], at: -1, query: "" });
      this.field = element("input", { type: "search", placeholder: "find in the text", "aria-label": "Find in the text", on: { input: () => this.search(), keydown: (event) => this.onKey(event) } });
      this.told = element("span", { role: "status" });
      const button = (text, label, click) => element("button", { type: "button", "aria-label": label, on: { click } }, text);
      this.root = element("div", { class: "find", role: "search", hidden: true }, this.field, button("↑", "Previous", () => this.step(-1)), button("↓", "Next", () => this.step(1)), button("×", "Close", () => this.close()), this.told);
    }

    open() {
      this.root.hidden = false;
      this.field.focus();
      this.field.select();
      if (this.field.value) this.search();
    }

    close() {
      this.root.hidden = true;
      this.unmark();
      (this.last?.isConnected ? this.last : this.pane.part.querySelector('[tabindex="0"]'))?.focus();
    }

    onKey(event) {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") this.close();
      else return;
      event.preventDefault();
    }

    search() {
      this.query = this.field.value.toLowerCase();
      this.seen = this.pane.part.querySelector(".reaches");
      const parts = this.query ? [...this.pane.part.querySelectorAll(".reaches")] : [];
      this.hits = parts.flatMap((part) => (part.lines?.() ?? []).filter(([text]) => text.toLowerCase().includes(this.query)).map(([, item]) => [part, item]));
      this.at = -1;
      this.unmark();
      this.say();
    }

    step(by) {
      // Search again if the query, the view or the pass has changed.
      if (this.field.value.toLowerCase() !== this.query || this.seen !== this.pane.part.querySelector(".reaches")) this.search();
      if (!this.hits.length) return;
      this.at = (this.at < 0 && by < 0 ? this.hits.length - 1 : this.at + by + this.hits.length) % this.hits.length;
      const [part, item] = this.hits[this.at];
      const line = part.go(item);
      this.unmark();
      this.say();
      if (!line) return;
      bring(line, this.pane.part);
      this.last = line;
      line.classList.add("found");
      this.mark(line);
    }

    // Highlight the matched words if the browser supports the CSS Custom Highlight API, which leaves the DOM unchanged.
    mark(line) {
      if (!globalThis.Highlight) return;
      const ranges = [];
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      const nodes = [];
      while (walker.nextNode()) nodes.push(walker.currentNode);
      const text = nodes.map((it) => it.data).join("").toLowerCase();
      const place = (offset, isEnd) => {
        let before = 0;
        for (const node of nodes) {
          if (offset < before + node.length || (isEnd && offset === before + node.length)) return [node, offset - before];
          before += node.length;
        }
        return [nodes.at(-1), nodes.at(-1).length];
      };
      for (let at = text.indexOf(this.query); at >= 0; at = text.indexOf(this.query, at + this.query.length)) {
        const range = new Range();
        range.setStart(...place(at, false));
        range.setEnd(...place(at + this.query.length, true));
        ranges.push(range);
      }
      CSS.highlights.set("xla-found", new Highlight(...ranges));
    }

    unmark() {
      for (const each of this.pane.part.querySelectorAll(".found")) each.classList.remove("found");
      globalThis.CSS?.highlights?.delete("xla-found");
    }

    say() {
      const number = this.hits.length;
      this.told.textContent = !this.query ? "" : !number ? "not found" : this.at < 0 ? `${number} rows` : `${this.at + 1} of ${number}`;
    }
  }

  Object.assign(globalThis.xlaExplorer, { Find });
}
