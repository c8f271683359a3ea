// Buttons that step through the passes: the previous pass, the next pass, and all passes one after another.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const SPEEDS = [["2000", "½×"], ["1000", "1×"], ["500", "2×"], ["200", "5×"]]; // milliseconds per pass, and the label
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");

  class Stepper {
    constructor(pane) {
      this.pane = pane;
      const button = (text, label, click) => element("button", { type: "button", title: label, "aria-label": label, on: { click } }, text);
      this.previous = button("‹", "Previous pass", () => this.step(-1));
      this.next = button("›", "Next pass", () => this.step(1));
      this.play = button("Play", "Play the passes one after another", () => this.toggle());
      const speeds = SPEEDS.map(([value, text]) => element("option", { value, selected: value === "1000" }, text));
      this.speed = element("select", { "aria-label": "Speed", on: { change: () => this.timer && this.start() } }, ...speeds);
      this.said = element("span", { class: "at" });
      this.menus = element("span", { class: "menus" });
      const hint = element("span", { class: "hint" }, "↑ ↓ in the list, [ ] anywhere");
      this.steps = element("span", { class: "steps", role: "group", "aria-label": "Passes" }, this.previous, this.play, this.next, this.speed, this.said, hint);
      this.root = element("div", { class: "head" }, this.menus, this.steps);
    }

    // Step to another pass of the list, which a search may have shortened. Return whether there is one.
    step(by) {
      const { pane } = this;
      const listed = [...pane.part.querySelectorAll('[role="option"]')].map((it) => Number(it.dataset.pass));
      const at = pane.state.pass;
      const next = by > 0 ? listed.find((it) => it > at) : listed.findLast((it) => it < at);
      if (next === undefined) return false;
      pane.act(pane, { pass: next });
      return true;
    }

    toggle() {
      if (this.timer) return this.stop();
      // At the last pass, start again from the imported module.
      if (this.pane.state.pass >= this.pane.model.last) this.pane.act(this.pane, { pass: 0 });
      this.start();
    }

    start() {
      clearInterval(this.timer);
      this.timer = setInterval(() => {
        if (!this.root.isConnected || this.pane.state.view !== "passes" || !this.step(1)) this.stop();
      }, Number(this.speed.value));
      this.tell();
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.tell();
    }

    tell() {
      const label = this.timer ? "Pause" : "Play";
      this.play.textContent = label;
      this.play.setAttribute("aria-label", this.timer ? "Pause" : "Play the passes one after another");
    }

    update() {
      const { state, model } = this.pane;
      this.steps.hidden = state.view !== "passes";
      if (this.steps.hidden && this.timer) this.stop();
      // Readers who prefer reduced motion can step through the passes but cannot play them.
      this.play.hidden = this.speed.hidden = STILL.matches;
      this.previous.disabled = state.pass <= 0;
      this.next.disabled = state.pass >= model.last;
      this.said.textContent = `${state.pass} of ${model.last}`;
    }
  }

  Object.assign(globalThis.xlaExplorer, { Stepper });
}
