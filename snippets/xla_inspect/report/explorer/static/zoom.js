// A viewport for a drawing: it zooms by buttons, Ctrl and the wheel or the keys + - 0, and moves by dragging.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const [LEAST, MOST, STEP] = [0.2, 4, 1.25];
  const SCALES = [1.6, 1.45, 1.3, 1.15, 1, 0.95, 0.9]; // readable scales; the first one at which the whole drawing fits is used
  const KEYS = { "+": STEP, "=": STEP, "-": 1 / STEP, _: 1 / STEP };

  class Zoom {
    // `layOut(width, height)` lays out the drawing in a width and returns its size, `[width, height]`, in its own
    // pixels. It fills a larger height, is as low as possible for height 0, and keeps its row spacing without a height.
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

    // After a resize, keep the scale that the reader chose.
    refresh() {
      if (this.isOwn) this.again();
      else this.reset();
    }

    // The drawing changed, for example because a box opened. Lay it out again without any other change.
    again() {
      if (!this.room[0] || !this.across) return;
      this.size = this.layOut(this.across);
      this.put(this.scale);
    }

    // Return to a readable size: as large as the space allows, but close to or above the natural size of the letters.
    reset() {
      const [width, height] = this.room;
      if (!width || !height) return;
      this.isOwn = false;
      // If space is left below, lay it out in less width and enlarge it. Shrink it slightly if that makes it fit.
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

    // Set the scale. The point `x`, `y` of the window stays in place.
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
