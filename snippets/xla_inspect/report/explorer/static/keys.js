// The explorer's keyboard shortcuts, and the table that lists them.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const TABLE = [
    ["↑ ↓", "previous and next pass, in the list of passes"],
    ["[ ]", "previous and next pass, anywhere in the explorer"],
    ["↑ ↓ Home End", "move from line to line, in the source or in a listing"],
    ["Enter Space", "choose the line or the instruction; press again to release it"],
    ["← →", "previous and next target or view, in their bars; on a border, make the pane next to it smaller or larger"],
    ["/", "find a pass; Enter goes to the next match"],
    ["=", "open or close the second pane, as Compare does"],
    ["?", "this table; Esc closes it"],
  ];

  class Keys {
    constructor(explorer) {
      this.explorer = explorer;
      const rows = TABLE.map(([key, what]) => element("tr", {}, element("th", { scope: "row" }, ...key.split(" ").flatMap((it) => [element("kbd", {}, it), " "])), element("td", {}, what)));
      const close = element("button", { type: "button", on: { click: () => this.root.close() } }, "Close");
      this.root = element(
        "dialog",
        { class: "keytable", "aria-label": "Keys" },
        element("table", {}, element("caption", {}, "Keys while the explorer has the focus"), element("tbody", {}, ...rows)),
        close,
      );
      explorer.shadow.addEventListener("keydown", (event) => this.press(event));
      // On a page of its own, the explorer needs no focus for these keys. Other keys may belong to the page.
      if (explorer.root.classList.contains("whole"))
        document.addEventListener("keydown", (event) => event.target === document.body && "[]".includes(event.key) && this.press(event));
    }

    open() {
      this.root.showModal();
    }

    press(event) {
      const { explorer } = this;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.target.matches('input:not([type="radio"], [type="checkbox"]), textarea, select')) return;
      const pane = explorer.panes.find((it) => it.root.contains(event.target)) ?? explorer.acting;
      const isStepping = pane.state.view === "passes" && pane.model;
      const keys = {
        "?": () => this.open(),
        "/": () => explorer.bar.search.checkVisibility() && explorer.bar.search.focus(),
        "=": () => explorer.togglePair(),
        "[": () => isStepping && pane.stepper.step(-1),
        "]": () => isStepping && pane.stepper.step(1),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    }
  }

  Object.assign(globalThis.xlaExplorer, { Keys });
}
