// The list of problems under the editor. Each problem with a line has a button that leads to it.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const KINDS = {
    syntax: "Syntax",
    loading: "Running the code",
    tracing: "Tracing",
    arguments: "Arguments",
    compiler: "The compiler",
    time: "Time",
    memory: "Memory",
    output: "Output",
    crash: "The process ended",
    limit: "Too large",
    server: "The server",
  };
  const LONG = 400; // characters; a longer message is folded

  // Merge the failures of targets that failed in the same way: `{ kind, message, line, column, ..., targets }`.
  const gather = (failures) => {
    const found = new Map();
    for (const { target, failure } of failures) {
      const key = JSON.stringify([failure.kind, failure.message, failure.line]);
      if (!found.has(key)) found.set(key, { ...failure, targets: [] });
      if (target) found.get(key).targets.push(target);
    }
    return [...found.values()];
  };

  class Problems {
    // `titles` returns a target's title. `go(line, column)` moves the editor to a line.
    constructor(root, titles, go) {
      Object.assign(this, { root, titles, go, failures: [], output: "" });
    }

    get faults() {
      return gather(this.failures).map((it) => ({ ...it, source: this.title(it) }));
    }

    clear() {
      this.failures = [];
      this.output = "";
      this.draw();
    }

    add(target, failure) {
      this.failures.push({ target, failure });
      if (failure.output) this.output += failure.output;
      this.draw();
    }

    print(text) {
      this.output += text;
      this.draw();
    }

    title({ kind, targets }) {
      const where = targets.length ? ` for ${targets.map((it) => this.titles(it)).join(", ")}` : "";
      return `${KINDS[kind] ?? kind}${where}`;
    }

    draw() {
      const items = this.faults.map((it) => element("li", { "data-kind": it.kind }, ...this.tell(it)));
      const printed = element("details", { class: "printed" }, element("summary", {}, "What the code printed"), element("pre", { tabindex: 0 }, this.output));
      const list = element("ul", { "aria-label": "What went wrong" }, ...items);
      const wasOpen = this.root.querySelector(".printed")?.open ?? false;
      printed.open = wasOpen;
      this.root.replaceChildren(...(items.length ? [list] : []), ...(this.output ? [printed] : []));
    }

    tell(it) {
      const [short, rest] = it.message.length > LONG ? split(it.message) : [it.message, ""];
      const place = it.line ? element("button", { type: "button", on: { click: () => this.go(it.line) } }, `line ${it.line}`) : "";
      return [
        element("b", {}, `${it.source} `),
        place,
        element("span", { class: "message" }, short),
        ...(rest ? [element("details", {}, element("summary", {}, "all of it"), element("pre", { tabindex: 0 }, it.message))] : []),
        ...(it.hint ? [element("span", { class: "hint" }, it.hint)] : []),
      ];
    }
  }

  const split = (message) => {
    const first = message.slice(0, LONG);
    const end = Math.max(first.indexOf("\n"), 0) || first.lastIndexOf(" ");
    return [`${message.slice(0, end > 0 ? end : LONG)} …`, message];
  };

  Object.assign(globalThis.xlaExplorer, { Problems });
}
