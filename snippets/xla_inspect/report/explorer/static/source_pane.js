// The Python source next to the result. Lines that the result refers to are colored, and other blocks are folded.
"use strict";
{
  const { element, line, bring, light, offerFocus, stepOnKey, STOPS, LIT } = globalThis.xlaExplorer;
  // No red and no green, and color-blind readers can distinguish neighbors: `[on a light page, on a dark page]`.
  const PALETTE = [
    ["#0067a8", "#5cb0ea"],
    ["#b97f00", "#f2c648"],
    ["#6a3d9a", "#b79bea"],
    ["#2193c9", "#a5dcfa"],
    ["#7a5a16", "#cfae72"],
    ["#b0528c", "#eba6cc"],
    ["#24327a", "#8594e6"],
    ["#77777c", "#c2c2c8"],
  ];
  const DEFINES = /^(?:async\s+def|def|class)\s+(\w+)/;

  // Return the top-level blocks of a file as `[first, after]`. Decorators belong to the block that they decorate.
  const blocks = (lines) => {
    const starts = [];
    lines.forEach((text, at) => {
      const isNew = /^\S/.test(text) && !/^[)\]}]/.test(text) && !text.startsWith("#");
      const isDecorated = starts.length && lines[starts.at(-1)].startsWith("@") && lines.slice(starts.at(-1), at).every((it) => !DEFINES.test(it));
      if (isNew && !isDecorated) starts.push(at);
    });
    return starts.map((start, n) => {
      let end = starts[n + 1] ?? lines.length;
      while (end > start && !lines[end - 1].trim()) end--;
      return [start, end];
    });
  };

  // Return which lines are shown at first: those of blocks with colored lines, and those of the program itself.
  const findSeen = (model, file, lines) => {
    const isSeen = lines.map(() => false);
    const marked = new Set(model.data.places.filter(([f]) => f === file).map(([, number]) => number - 1));
    for (const [start, end] of blocks(lines)) {
      const inside = lines.slice(start, end);
      const isOwn = inside.some((text) => text.match(DEFINES)?.[1] === model.data.program);
      if (isOwn || inside.some((_, at) => marked.has(start + at))) isSeen.fill(true, start, end);
    }
    return isSeen.some(Boolean) ? isSeen : isSeen.fill(true);
  };

  class SourcePane {
    constructor(choose) {
      this.colours = new Map();
      this.part = element("div", { class: "source", role: "group", "aria-label": "Python" });
      this.part.addEventListener("keydown", (event) => stepOnKey(event, this.part));
      this.part.addEventListener("focusin", (event) => offerFocus(this.part, event.target.closest(STOPS)));
      this.part.addEventListener("click", (event) => {
        const pressed = event.target.closest("button.line[data-place]");
        if (pressed) choose(Number(pressed.dataset.place), NaN);
      });
    }

    // Draw the sources of a model.
    draw(model, state) {
      this.model = model;
      this.part.replaceChildren(...model.data.sources.map(([file, lines], number) => this.drawFile(file, lines, number, state)));
      this.part.dataset.drawn = "";
      offerFocus(this.part);
    }

    drawFile(file, lines, number, state) {
      const isSeen = findSeen(this.model, number, lines);
      const items = lines.map((text, at) =>
        element("li", { "data-number": at + 1, hidden: !isSeen[at] }, line(text, this.model.findPlace(number, at + 1), state)),
      );
      const shown = [];
      items.forEach((item, at) => {
        if (!isSeen[at] && (at === 0 || isSeen[at - 1])) shown.push(this.fold(items, isSeen, at));
        shown.push(item);
      });
      return element(
        "section",
        { class: "file", role: "group", "aria-label": file },
        element("p", { class: "named", "aria-hidden": "true" }, file),
        element("ol", { class: "code numbered" }, ...shown),
      );
    }

    // Create a button that shows and hides the run of folded lines that begins at `at`.
    fold(items, isSeen, at) {
      const end = isSeen.indexOf(true, at);
      const folded = items.slice(at, end < 0 ? items.length : end);
      const said = folded.length === 1 ? `line ${at + 1}` : `lines ${at + 1} to ${at + folded.length}`;
      const more = element("button", { type: "button", class: "more", tabindex: -1, "aria-expanded": "false" }, `⋯ ${said}`);
      more.addEventListener("click", () => {
        const isOpen = more.getAttribute("aria-expanded") === "true";
        more.setAttribute("aria-expanded", String(!isOpen));
        for (const item of folded) item.hidden = isOpen;
      });
      return element("li", { class: "fold" }, more);
    }

    light(place, isMoved) {
      light(this.part, place);
      const lit = this.part.querySelector(LIT);
      if (lit?.closest("li[hidden]")) for (const fold of this.part.querySelectorAll('.fold > [aria-expanded="false"]')) fold.click();
      if (isMoved) bring(lit, this.part);
    }

    // Return the color of each place of a model. A line keeps its color for later targets and edits.
    paint(model) {
      const places = model.data.places.map(([file, number], place) => ({ file: model.data.sources[file][0], number, place }));
      let [last, at] = ["", -1];
      for (const { file, number } of [...places].sort((a, b) => a.file.localeCompare(b.file) || a.number - b.number)) {
        const name = `${file}:${number}`;
        if (!this.colours.has(name)) {
          at = (at + 1) % PALETTE.length;
          if (this.colours.get(last) === at) at = (at + 1) % PALETTE.length;
          this.colours.set(name, at);
        }
        [last, at] = [name, this.colours.get(name)];
      }
      return places.map(({ file, number, place }) => [place, `light-dark(${PALETTE[this.colours.get(`${file}:${number}`)].join(", ")})`]);
    }

    // Return the colors for a page that shows the source itself: `{ file: { line: color } }`.
    listColours(model) {
      if (this.listed?.model === model) return this.listed.found;
      const found = {};
      for (const [place, colour] of this.paint(model)) {
        const [file, number] = model.data.places[place];
        (found[model.data.sources[file][0]] ??= {})[number] = colour;
      }
      this.listed = { model, found };
      return found;
    }
  }

  // Set the colors of places for everything inside a part.
  const dye = (part, colours) => {
    for (const [place, colour] of colours) part.style.setProperty(`--place-${place}`, colour);
  };

  Object.assign(globalThis.xlaExplorer, { SourcePane, dye });
}
