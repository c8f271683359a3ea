// A window onto a drawing that is larger or smaller than it: buttons, ctrl and the wheel, + - 0 and dragging.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const [LEAST, MOST, STEP] = [0.2, 4, 1.25];
  const SCALES = [1.6, 1.45, 1.3, 1.15, 1, 0.95, 0.9]; // at which it is well to read, the largest that shows all of it first
  const KEYS = { "+": STEP, "=": STEP, "-": 1 / STEP, _: 1 / STEP };

  class Zoom {
    // `layOut(width, height)` lays the drawing out in a width and returns its size `[width, height]` in its own pixels: it
    // fills a height that is larger than it needs, takes as little as it can of 0, and without one stays as high as it is.
    constructor(drawing, label, layOut) {
      Object.assign(this, { drawing, layOut, scale: 1, size: [0, 0], isOwn: false });
      const button = (text, name, click) => element("button", { type: "button", "aria-label": name, title: name, on: { click } }, text);
      this.told = element("output", { class: "percent" });
      this.controls = element(
        "div",
        { class: "zoom", role: "group", "aria-label": "Zoom" },
        button("−", "Smaller (−)", () => this.by(1 / STEP)),
        this.told,
        button("+", "Larger (+)", () => this.by(STEP)),
        button("Fit", "Fit the whole picture (0)", () => this.fit()),
        button("Read", "Return to the initial, readable size", () => this.reset()),
      );
      this.sheet = element("div", { class: "sheet" }, drawing);
      this.window = element("div", { class: "window", role: "group", "aria-label": label }, this.sheet);
      this.window.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
      this.window.addEventListener("keydown", (event) => this.onKey(event));
      this.window.addEventListener("pointerdown", (event) => this.drag(event));
      new ResizeObserver(() => this.refresh()).observe(this.window);
    }

    get room() {
      return [this.window.clientWidth, this.window.clientHeight];
    }

    // The window has another size: what the reader chose stays.
    refresh() {
      if (this.isOwn) this.again();
      else this.reset();
    }

    // The drawing has changed, such as a box of it that opened: nothing else moves.
    again() {
      if (!this.room[0] || !this.across) return;
      this.size = this.layOut(this.across);
      this.put(this.scale);
    }

    // At a size to read: as large as there is room for, and no smaller than its letters were made.
    reset() {
      const [width, height] = this.room;
      if (!width || !height) return;
      this.isOwn = false;
      // Where it leaves room below, it is laid out in less width, and shown larger; a little smaller shows all of more.
      const scale = SCALES.find((tried) => this.layOut(width / tried, 0)[1] * tried <= height) ?? 1;
      this.across = width / scale;
      this.size = this.layOut(this.across, height / scale);
      this.put(scale);
    }

    fit() {
      const [width, height] = this.room;
      this.isOwn = true;
      this.put(Math.min(width / this.size[0], height / this.size[1], MOST));
    }

    by(factor, x = this.room[0] / 2, y = this.room[1] / 2) {
      this.isOwn = true;
      this.put(Math.min(Math.max(this.scale * factor, LEAST), MOST), x, y);
    }

    // Show it at a scale; what was at a point of the window stays there.
    put(scale, x = 0, y = 0) {
      const { window, sheet, drawing, size } = this;
      const [left, top] = [(window.scrollLeft + x) / this.scale, (window.scrollTop + y) / this.scale];
      this.scale = scale;
      drawing.style.transform = scale === 1 ? "" : `scale(${scale})`;
      drawing.style.width = `${size[0]}px`;
      sheet.style.width = `${Math.floor(size[0] * scale)}px`;
      sheet.style.height = `${Math.floor(size[1] * scale)}px`;
      if (x || y) [window.scrollLeft, window.scrollTop] = [left * scale - x, top * scale - y];
      this.told.textContent = `${Math.round(100 * scale)} %`;
    }

    onWheel(event) {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = this.window.getBoundingClientRect();
      this.by(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    }

    onKey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
      if (event.key in KEYS) this.by(KEYS[event.key]);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    drag(event) {
      if (event.button || event.pointerType === "touch" || event.target.closest("button, summary, .line, .moved, .makes")) return;
      const { window } = this;
      const [x, y, left, top] = [event.clientX, event.clientY, window.scrollLeft, window.scrollTop];
      const move = (to) => {
        window.classList.add("dragged");
        [window.scrollLeft, window.scrollTop] = [left + x - to.clientX, top + y - to.clientY];
      };
      const end = () => {
        window.classList.remove("dragged");
        window.removeEventListener("pointermove", move);
      };
      window.setPointerCapture(event.pointerId);
      window.addEventListener("pointermove", move);
      for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, end, { once: true });
    }
  }

  Object.assign(globalThis.xlaExplorer, { Zoom });
}
