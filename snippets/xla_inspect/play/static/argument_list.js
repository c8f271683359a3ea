// The arguments: their shapes as text, a slider for each size, and which arguments are donated or static.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const SHAPE = /(?:\b([A-Za-z_]\w*)\s*:\s*)?\b[A-Za-z_]\w*\s*\[([\d\s,]*)\]/g;
  const [LEAST, MOST] = [0, 16]; // the exponents of two that a slider covers

  // Return the sizes in a text of shapes, equal ones together: `{ size, places, where }`. A place is `[from, to]`.
  const listSizes = (text) => {
    const found = new Map();
    let number = 0;
    for (const match of text.matchAll(SHAPE)) {
      const [whole, name, inside] = match;
      const begin = match.index + whole.lastIndexOf("[") + 1;
      [...inside.matchAll(/\d+/g)].forEach((it, axis) => {
        const size = Number(it[0]);
        if (!found.has(size)) found.set(size, { size, places: [], where: [] });
        found.get(size).places.push([begin + it.index, begin + it.index + it[0].length]);
        found.get(size).where.push(`${name ?? `argument ${number + 1}`}[${axis}]`);
      });
      number += 1;
    }
    return [...found.values()];
  };

  // Return the text with another size at some places, and the new positions of these places.
  const resize = (text, places, size) => {
    let [made, last] = ["", 0];
    const moved = [];
    for (const [from, to] of places) {
      made += text.slice(last, from);
      moved.push([made.length, made.length + String(size).length]);
      made += size;
      last = to;
    }
    return [made + text.slice(last), moved];
  };

  class ArgumentList {
    constructor(change) {
      Object.assign(this, { change, own: null, described: "", parameters: [], donate: new Set(), fixed: new Set() });
      this.area = element("textarea", { rows: 2, spellcheck: "false", "aria-label": "Shapes of the arguments", on: { input: () => this.type() } });
      this.sizes = element("div", { class: "sizes", role: "group", "aria-label": "Sizes" });
      this.flags = element("div", { class: "flags" });
      this.again = element("button", { type: "button", hidden: true, on: { click: () => this.forget() } }, "As the code says");
      this.said = element("span", { class: "said" });
      const help = element("p", {}, "Sizes that are equal move together; the text changes one alone. ", this.again);
      this.root = element("details", { class: "fold arguments" }, element("summary", {}, "Arguments", this.said), this.area, help, this.sizes, this.flags);
    }

    // The arguments to send: the text if the reader changed it, otherwise nothing, which stands for the code's own.
    get value() {
      const names = this.parameters.filter((it) => it);
      return { arguments: this.own ?? "", donate: names.filter((it) => this.donate.has(it)), static: names.filter((it) => this.fixed.has(it)) };
    }

    // Show the parameters and shapes of the code. The reader's own shapes are kept unless the function is another one.
    describe(parameters, text, isOther) {
      if (isOther) this.own = null;
      const names = parameters.map((it) => (typeof it === "string" ? it : it.name));
      Object.assign(this, { parameters: names, described: text });
      if (this.root.contains(document.activeElement) && this.own !== null) return;
      this.draw();
    }

    // Load arguments from stored edits or from a link.
    take({ arguments: text = "", donate = [], static: fixed = [] }) {
      this.own = text || null;
      this.donate = new Set(donate);
      this.fixed = new Set(fixed);
      this.draw();
    }

    draw() {
      const text = this.own ?? this.described;
      if (this.area.value !== text) this.area.value = text;
      this.area.placeholder = "the arguments of EXAMPLE in the code";
      this.drawSizes();
      const box = (set, name, what) => {
        const input = element("input", { type: "checkbox", name: `${what} ${name}`, on: { change: () => this.flag(set, name, input.checked) } });
        input.checked = set.has(name);
        return element("label", {}, input, what);
      };
      const rows = this.parameters.map((name) => element("p", { class: "parameter" }, element("code", {}, name), box(this.donate, name, "donate"), box(this.fixed, name, "static")));
      this.flags.replaceChildren(...rows);
      this.summarize();
    }

    drawSizes() {
      this.sizes.replaceChildren(...listSizes(this.area.value).map((it) => this.row(it)));
    }

    row({ size, places, where }) {
      const power = Math.log2(Math.max(size, 1));
      const label = where.length > 3 ? `${where.slice(0, 3).join(", ")} …` : where.join(", ");
      const slider = element("input", { type: "range", min: LEAST, max: MOST, step: 1, value: Math.round(power), "aria-label": `Power of two for ${label}`, "aria-valuetext": size });
      const field = element("input", { type: "number", min: 0, step: 1, value: size, "aria-label": `Size of ${label}` });
      const set = (value) => {
        const [text, moved] = resize(this.area.value, places, value);
        places.splice(0, places.length, ...moved);
        slider.setAttribute("aria-valuetext", value);
        this.area.value = text;
        this.edited();
      };
      slider.addEventListener("input", () => set((field.value = 2 ** Number(slider.value))));
      field.addEventListener("input", () => {
        if (!/^\d+$/.test(field.value)) return;
        slider.value = Math.round(Math.log2(Math.max(Number(field.value), 1)));
        set(Number(field.value));
      });
      return element("p", { class: "size" }, element("span", { title: where.join(", ") }, label), slider, field);
    }

    type() {
      this.drawSizes();
      this.edited();
    }

    edited() {
      this.own = this.area.value.trim() && this.area.value !== this.described ? this.area.value : null;
      this.summarize();
      this.change();
    }

    flag(set, name, isOn) {
      if (isOn) set.add(name);
      else set.delete(name);
      this.summarize();
      this.change();
    }

    forget() {
      this.own = null;
      this.draw();
      this.change();
      this.area.focus();
    }

    summarize() {
      const kinds = [["donated", this.donate], ["static", this.fixed]];
      const flags = kinds.flatMap(([word, set]) => this.parameters.filter((it) => set.has(it)).map((it) => `${it} ${word}`));
      this.said.textContent = [this.area.value.replace(/\s+/g, " ") || "as EXAMPLE in the code says", ...flags].join(" · ");
      this.again.hidden = this.own === null;
    }
  }

  Object.assign(globalThis.xlaExplorer, { ArgumentList, listSizes, resize });
}
