// The texts of a kernel from HLO to machine code: one text, or two side by side with their linked lines highlighted.
"use strict";
{
  const { element, count, row, colour } = globalThis.xlaExplorer;
  const PIECE = 100; // lines per block; the browser lays out a block when it becomes visible
  const HLO = "hlo-rows";
  const MATES = { sass: "ptx", asm: "llvm", bundles: HLO, ptx: "llvm" }; // the default second stage next to each first stage
  const wanted = { first: null, second: null }; // the languages that the reader chose last, used for the next kernel

  let names = 0;
  const choice = (label, entries, chosen, change) => {
    const name = `stage-${(names += 1)}`;
    return element(
      "div",
      { class: "stage", role: "radiogroup", "aria-label": label },
      element("span", { class: "hidden" }, label),
      ...entries.map(([value, text]) => {
        const radio = element("input", { type: "radio", name, value, on: { change: () => change(value) } });
        radio.checked = value === chosen;
        return element("label", {}, radio, element("span", {}, text));
      }),
    );
  };

  // List the lines of a text with their numbers. The browser does not lay out lines that are out of sight.
  const listing = (text, language, title) => {
    const lines = text.replace(/\n$/, "").split("\n").map((line) => line.replace(/^\s+(\/\*[0-9a-f]+\*\/)\s+/, "$1 "));
    const pieces = [];
    for (let at = 0; at < lines.length; at += PIECE)
      pieces.push(
        element("span", { class: "piece", style: `contain-intrinsic-size: auto ${16 * Math.min(PIECE, lines.length - at)}px` },
          ...lines.slice(at, at + PIECE).map((line, n) => element("span", { class: "at", "data-line": at + n + 1 }, ...colour(line, language), "\n"))),
      );
    return element("pre", { tabindex: 0, role: "region", "aria-label": title, class: language }, ...pieces);
  };

  const rowsOf = (model, kernel, state) =>
    model.module(model.last).map((c) => [c, c.rows.filter((each) => kernel.holds.includes(each.instruction))]).filter(([, rows]) => rows.length).map(([c, rows]) =>
      element("div", { class: "held" }, c.isEntry ? "" : element("p", { class: "named" }, `%${c.name}`),
        element("ol", { class: "code" }, ...rows.map((each) => row(model, { ...each, kind: "same" }, state)))));

  class Stages {
    constructor(model, kernel, state) {
      Object.assign(this, { model, kernel, state, chosen: null });
      this.stages = [...(kernel.holds.length ? [[HLO, "HLO", null]] : []), ...kernel.pieces.map(([title, lines, at, language]) => [language, title, at, lines])];
      this.root = element("div", { class: "stages" });
      const has = (language) => this.stages.some(([each]) => each === language);
      const last = this.stages.at(-1)?.[0];
      this.first = has(wanted.first) ? wanted.first : last;
      this.second = wanted.second === "" || (has(wanted.second) && wanted.second !== this.first) ? wanted.second : has(MATES[this.first]) ? MATES[this.first] : "";
      if (this.stages.length) this.draw();
    }

    choose(change) {
      Object.assign(this, change);
      Object.assign(wanted, { first: this.first, second: this.second });
      if (this.second === this.first) this.second = "";
      const focused = this.root.getRootNode().activeElement;
      const at = [...this.root.querySelectorAll("input")].indexOf(focused);
      this.draw();
      const kept = this.root.querySelectorAll("input")[at];
      if (kept?.checked) kept.focus();
    }

    draw() {
      const entries = this.stages.map(([language, title]) => [language, title.replace(" before LLVM's own passes", ", before LLVM's passes")]);
      const others = entries.filter(([language]) => language !== this.first);
      const beside = others.length ? [element("span", { class: "beside", "aria-hidden": "true" }, "beside"), choice("Beside it", [["", "nothing"], ...others], this.second, (second) => this.choose({ second }))] : [];
      const shown = [this.second, this.first].filter((each) => each !== "" && each !== undefined && each !== null);
      const order = this.stages.map(([language]) => language);
      shown.sort((a, b) => order.indexOf(a) - order.indexOf(b));
      this.parts = new Map();
      const said = element("p", { class: "linked" });
      this.root.replaceChildren(
        element("div", { class: "choices" }, choice(`Stage of ${this.kernel.name}`, entries, this.first, (first) => this.choose({ first })), ...beside),
        element("div", { class: `texts ${shown.length > 1 ? "two" : ""}` }, ...shown.map((language) => this.part(language, said))),
        said,
      );
    }

    part(language, said) {
      const [, title, at, lines] = this.stages.find(([each]) => each === language);
      const head = element("p", { class: "named" }, title, lines ? element("small", {}, ` ${count(lines, "line")}`) : "");
      const part = element("section", { class: "text", "data-places": this.kernel.places.join(" ") }, head);
      if (language === HLO) {
        part.append(element("div", { class: "hlo" }, ...rowsOf(this.model, this.kernel, this.state)));
        return part;
      }
      this.load(part, language, at, `${title} of ${this.kernel.name}`, said);
      return part;
    }

    async load(part, language, at, title, said) {
      const waiting = element("p", { class: "waiting" }, "Loading …");
      part.append(waiting);
      try {
        const details = await this.model.details();
        const made = listing(details.code[at], language, title);
        waiting.replaceWith(made);
        this.parts.set(language, { made, links: details.lines?.[at] });
        made.addEventListener("pointerover", (event) => this.light(language, event.target, false));
        made.addEventListener("pointerleave", () => this.light(language, null, false));
        made.addEventListener("click", (event) => this.light(language, event.target, true));
        made.addEventListener("keydown", (event) => this.step(language, event));
        if (this.parts.has("ptx") && this.parts.get("sass")?.links) said.textContent = "A line of PTX is highlighted together with the lines of SASS that were assembled from it: hover over a line, click it, or use the arrow keys.";
      } catch (error) {
        const again = element("button", { type: "button", on: { click: () => { failed.remove(); this.load(part, language, at, title, said); } } }, "Try again");
        const failed = element("p", { class: "failed" }, `The text did not load: ${error.message}. Check the connection. `, again);
        waiting.replaceWith(failed);
      }
    }

    // Highlight a line and its linked lines in the other text. A clicked line stays highlighted, and the other text
    // scrolls to the first linked line.
    light(language, target, isPressed) {
      const line = target?.closest?.(".at");
      // Also highlight the kernel's lines of Python in the source pane, without scrolling.
      const source = this.root.getRootNode().querySelectorAll(this.kernel.places.map((place) => `.source [data-place="${place}"]`).join(", ") || "none");
      for (const each of source) each.classList.toggle("akin", Boolean(line));
      const number = line ? Number(line.dataset.line) : 0;
      const name = isPressed ? "pinned" : "linked";
      for (const { made } of this.parts.values()) for (const each of made.querySelectorAll(`.${name}`)) each.classList.remove(name);
      if (!number) return;
      const links = this.parts.get("sass")?.links ?? [];
      const from = language === "sass" ? links[number - 1] : language === "ptx" ? number : 0;
      line.classList.add(name);
      if (!from) return;
      const mark = (each) => {
        each?.classList.add(name);
        return each;
      };
      const at = (which, place) => this.parts.get(which)?.made.querySelector(`[data-line="${place}"]`);
      const lines = links.flatMap((each, place) => (each === from ? [place + 1] : []));
      const marked = { ptx: [from].map((place) => mark(at("ptx", place))), sass: lines.map((place) => mark(at("sass", place))) };
      const other = language === "sass" ? "ptx" : "sass";
      if (isPressed) this.see(marked[other][0], this.parts.get(other)?.made);
    }

    see(line, part) {
      if (!line || !part) return;
      const [inner, outer] = [line.getBoundingClientRect(), part.getBoundingClientRect()];
      if (inner.top < outer.top || inner.bottom > outer.bottom) part.scrollTop += inner.top - outer.top - outer.height / 3;
    }

    // Move from line to line with the arrow keys. The linked lines follow.
    step(language, event) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      const { made } = this.parts.get(language);
      const lines = made.querySelectorAll(".at");
      const pinned = made.querySelector(".pinned.current") ?? made.querySelector(".pinned");
      const now = pinned ? Number(pinned.dataset.line) - 1 : -1;
      const next = lines[Math.min(Math.max(now + by, 0), lines.length - 1)];
      for (const each of made.querySelectorAll(".current")) each.classList.remove("current");
      next.classList.add("current");
      this.light(language, next, true);
      this.see(next, made);
    }
  }

  Object.assign(globalThis.xlaExplorer, { Stages, listing });
}
