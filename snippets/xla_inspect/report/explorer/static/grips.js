// Movable borders between panes, for pointer and keyboard, and the height of the panes.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const [LEAST, STEP] = [12, 2]; // percent: the minimum width of a pane, and the step of an arrow key
  const MOVES = { ArrowLeft: -STEP, ArrowRight: STEP, PageUp: -5 * STEP, PageDown: 5 * STEP, Home: -100, End: 100 };

  // Session storage keeps the widths until the tab is closed. Without storage, widths are not remembered.
  const recall = (name) => {
    try {
      return Number(sessionStorage.getItem(name)) || null;
    } catch {
      return null;
    }
  };
  const keep = (name, value) => {
    try {
      sessionStorage.setItem(name, String(value));
    } catch {
      /* A page that was opened as a file may have no storage. */
    }
  };

  // The border after a part. `read` returns the part's share of the width in percent, and `write` sets it.
  class Grip {
    constructor(name, label, part, { read, write, usual }) {
      Object.assign(this, { name: `explorer ${name}`, read, write, usual });
      part.id ||= `x-${name}`;
      this.root = element("div", {
        class: "grip",
        role: "separator",
        tabindex: 0,
        "aria-label": label,
        "aria-orientation": "vertical",
        "aria-controls": part.id,
        "aria-valuemin": LEAST,
        "aria-valuemax": 100 - LEAST,
        title: "Drag this border or press the arrow keys; double-click to reset it",
        on: {
          keydown: (event) => this.press(event),
          pointerdown: (event) => this.root.setPointerCapture(event.pointerId),
          pointermove: (event) => this.root.hasPointerCapture(event.pointerId) && this.drag(event),
          dblclick: () => this.set(null),
        },
      });
    }

    press(event) {
      const by = MOVES[event.key];
      if (!by) return;
      event.preventDefault();
      this.set(this.read() + by);
    }

    drag(event) {
      const [before, after] = [this.root.previousElementSibling, this.root.nextElementSibling];
      const [left, right] = [before.getBoundingClientRect().left, after.getBoundingClientRect().right];
      const part = (event.clientX - left) / (right - left);
      const room = this.root.parentElement.getBoundingClientRect().width;
      this.set(this.usual === 50 ? 100 * part : (100 * (event.clientX - left)) / room);
    }

    set(percent) {
      const value = percent === null ? null : Math.min(Math.max(percent, LEAST), 100 - LEAST);
      keep(this.name, value ?? "");
      this.write(value);
      this.tell();
    }

    tell() {
      this.root.setAttribute("aria-valuenow", String(Math.round(this.read())));
    }

    recall() {
      this.write(recall(this.name));
      this.tell();
    }
  }

  const share = (part, all) => (100 * part.getBoundingClientRect().width) / Math.max(all.reduce((sum, it) => sum + it.getBoundingClientRect().width, 0), 1);

  // Add the borders of an explorer: after the source pane, and between the two panes.
  const addGrips = (explorer) => {
    const { sides, source, first, all, options } = explorer;
    const style = (part, name, value) => (value === null ? part.style.removeProperty(name) : part.style.setProperty(name, value));
    const left = new Grip("source", "Width of the source", source.part, {
      usual: 0,
      read: () => share(source.part, [sides]),
      write: (value) => style(sides, "--x-source", value === null ? null : `${value}%`),
    });
    const between = new Grip("panes", "Width of the first pane", first.root, {
      usual: 50,
      read: () => share(first.root, explorer.panes.map((pane) => pane.root)),
      write: (value) => {
        style(first.root, "--x-share", value === null ? null : value / 50);
        if (explorer.second) style(explorer.second.root, "--x-share", value === null ? null : (100 - value) / 50);
      },
    });
    if (!options.noSource) source.part.after(left.root);
    left.recall();
    measureHeight(explorer, all);
    return {
      update() {
        if (!explorer.second) return between.root.remove();
        first.root.after(between.root);
        between.recall();
      },
    };
  };

  // Fit an explorer that fills the window to the space below its top, and its lists to the height of the pane.
  const measureHeight = (explorer, all) => {
    const measure = () => {
      const isFull = document.fullscreenElement === explorer.root;
      all.classList.toggle("full", isFull);
      all.style.setProperty("--x-above", `${Math.max(Math.round(explorer.root.getBoundingClientRect().top + scrollY), 0) + 8}px`);
      // Panes without a height limit fill the window. Otherwise they are stacked and keep their usual height.
      const { part } = explorer.first;
      const isFree = all.matches(".whole, .full") && getComputedStyle(part).maxHeight === "none";
      if (isFree && part.clientHeight) explorer.sides.style.setProperty("--x-tall", `${part.clientHeight}px`);
      else if (!isFree) explorer.sides.style.removeProperty("--x-tall");
    };
    new ResizeObserver(measure).observe(explorer.sides);
    addEventListener("resize", measure);
    document.addEventListener("fullscreenchange", measure);
  };

  Object.assign(globalThis.xlaExplorer, { addGrips });
}
