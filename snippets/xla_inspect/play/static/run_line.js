// One line that reports the progress of a run: each target with its seconds, and a button that stops the run.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const TICK = 100; // milliseconds
  const WORDS = { waiting: "waits", tracing: "is traced", compiling: "compiles", done: "", failed: "failed", stopped: "stopped" };

  const seconds = (value) => (value && value < 0.05 ? "<0.1 s" : `${value < 10 ? value.toFixed(1) : Math.round(value)} s`);

  class RunLine {
    // `titles` returns a target's title. `stop` stops the run.
    constructor(titles, stop) {
      Object.assign(this, { titles, targets: new Map(), timer: null });
      this.list = element("ul", { class: "times", "aria-label": "Targets" });
      this.stop = element("button", { type: "button", class: "stop", hidden: true, on: { click: stop } }, "Stop");
      this.state = element("span", { class: "state" });
      this.said = element("span", { class: "hidden", role: "status" });
      this.root = element("div", { class: "runline" }, this.list, this.state, this.stop, this.said);
    }

    get isRunning() {
      return this.timer !== null;
    }

    start(targets) {
      clearInterval(this.timer);
      this.began = performance.now();
      this.targets = new Map(targets.map((target) => [target, { phase: "waiting", seconds: 0 }]));
      this.timer = setInterval(() => this.draw(), TICK);
      this.stop.hidden = false;
      this.draw();
    }

    // Record the phase of a target. `took` is the time in seconds that the compiler measured, if the target is done.
    tell(target, phase, took) {
      const it = this.targets.get(target);
      if (!it || (it.phase === "failed" && phase !== "done")) return;
      Object.assign(it, { phase, seconds: took ?? (performance.now() - this.began) / 1000 });
      this.draw();
    }

    end(phase = "stopped") {
      clearInterval(this.timer);
      this.timer = null;
      for (const it of this.targets.values()) if (!["done", "failed"].includes(it.phase)) Object.assign(it, { phase, seconds: (performance.now() - this.began) / 1000 });
      this.stop.hidden = true;
      this.draw();
      const named = (wanted) => [...this.targets].filter(([, it]) => it.phase === wanted).map(([target]) => this.titles(target));
      const [done, failed] = [named("done"), named("failed")];
      this.said.textContent = [done.length && `Compiled for ${done.join(", ")}.`, failed.length && `Failed for ${failed.join(", ")}.`].filter((it) => it).join(" ");
    }

    // Show why the result is old, or nothing.
    age(text) {
      this.state.textContent = text;
    }

    draw() {
      const now = (performance.now() - this.began) / 1000;
      const items = [...this.targets].map(([target, it]) => {
        const isOver = ["done", "failed", "stopped"].includes(it.phase);
        const text = `${seconds(isOver ? it.seconds : now)}${WORDS[it.phase] ? ` ${WORDS[it.phase]}` : ""}`;
        return element("li", { class: it.phase, "data-target": target }, element("b", {}, this.titles(target)), ` ${text}`);
      });
      this.list.replaceChildren(...items);
    }
  }

  Object.assign(globalThis.xlaExplorer, { RunLine });
}
