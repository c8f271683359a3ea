// The bar above an explorer: it selects the program, target and view, sets how rows are printed, and holds tools.
"use strict";
{
  const { element, views, isOffered } = globalThis.xlaExplorer;
  const SWITCHES = [
    ["layouts", "layouts", true],
    ["configuration", "backend config", false],
    ["metadata", "metadata", false],
  ];
  const FEW = 4; // the most targets to show as radio buttons; more are shown as a menu

  // Create a menu with `[value, title]` entries. `fill` reuses the element, so that it keeps the focus.
  const menu = (name, label, choose) => {
    const made = element("select", { name, "aria-label": label, on: { change: () => choose(made.value) } });
    made.fill = (entries, value) => {
      const written = JSON.stringify(entries);
      if (made.written !== written) made.replaceChildren(...entries.map(([each, title]) => element("option", { value: each }, title)));
      Object.assign(made, { written, value });
    };
    return made;
  };

  class Bar {
    // The bar calls `explorer.show` when the reader chooses something. `tools` are placed at the end of the bar.
    constructor(explorer, tools) {
      this.explorer = explorer;
      const box = (name, text, change) =>
        element("label", { class: name }, element("input", { type: "checkbox", name, on: { change } }), ` ${text}`);
      this.switches = SWITCHES.map(([name, text]) => box(name, text, (event) => explorer.switch(name, event.target.checked)));
      this.search = element("input", {
        type: "search",
        placeholder: "find a pass",
        "aria-label": "Find a pass by its name, pipeline or summary",
        on: { input: () => explorer.show({ search: this.search.value }), keydown: (event) => event.key === "Enter" && this.goToFound() },
      });
      this.whole = box("all", "unchanged lines", (event) => explorer.switchAll(event.target.checked));
      this.program = menu("program", "Program", (program) => explorer.show({ program }, "push"));
      this.targetMenu = menu("target", "Target", (target) => explorer.show({ target }, "push"));
      this.targets = this.choice("target", "Target");
      this.views = this.choice("view", "View");
      this.fillChoice(this.views, Object.entries(views).filter(([, it]) => it).map(([name, { title }]) => [name, title]));
      this.which = element("div", { class: "which" }, this.program, this.targetMenu, this.targets);
      this.options = element("div", { class: "options" }, this.search, this.whole, ...this.switches);
      this.root = element("div", { class: "bar" }, this.which, this.views, this.options, element("div", { class: "tools" }, ...tools));
    }

    choice(name, label) {
      return element("div", { class: `choice ${name}`, role: "radiogroup", "aria-label": label, "data-name": name });
    }

    fillChoice(group, entries) {
      const { name } = group.dataset;
      const written = JSON.stringify(entries);
      if (group.dataset.written === written) return;
      group.dataset.written = written;
      const radio = (value) =>
        element("input", { type: "radio", name, value, on: { change: () => this.explorer.show({ [name]: value }, "push") } });
      const labels = entries.map(([value, text]) =>
        element("label", {}, radio(value), element("span", {}, text, element("i", { "data-count": value }))),
      );
      group.replaceChildren(...labels);
    }

    // Show the next match of the search after the current pass, or the first match if there is none after it.
    goToFound() {
      const { part, state } = this.explorer.first;
      const found = [...part.querySelectorAll('[role="option"]')].map((it) => Number(it.dataset.pass));
      if (!found.length) return;
      this.explorer.show({ pass: found.find((it) => it > state.pass) ?? found[0] }, "push");
    }

    update(pane, offers, isPaired) {
      const { state, model } = pane;
      const [programs, targets] = [offers.programs(), offers.targets(state.program)];
      const isMenu = programs.length > 1 || targets.length > FEW;
      this.program.fill(programs, state.program);
      this.program.hidden = programs.length < 2;
      this.targetMenu.fill(targets, state.target);
      this.targetMenu.hidden = !isMenu;
      this.fillChoice(this.targets, isMenu ? [] : targets);
      this.targets.hidden = isMenu;
      this.which.hidden = this.views.hidden = isPaired;
      this.check("target", state.target);
      this.check("view", state.view);
      for (const input of this.views.querySelectorAll("input")) input.parentElement.hidden = !isOffered(model, input.value);
      for (const [at, [name]] of SWITCHES.entries()) {
        this.switches[at].querySelector("input").checked = state.switches[name];
        this.switches[at].hidden = !views[state.view].printsRows;
      }
      this.whole.querySelector("input").checked = state.all;
      if (this.search.value !== state.search) this.search.value = state.search;
      this.whole.hidden = state.view !== "passes";
      this.search.hidden = isPaired || state.view !== "passes";
    }

    // Select `value` in the controls. After a failed load, this restores the value that is still shown.
    check(name, value) {
      for (const input of this.root.querySelectorAll(`.choice input[name="${name}"]`)) input.checked = input.value === value;
      const select = { target: this.targetMenu, program: this.program }[name];
      if (select) select.value = value;
    }

    // Show next to each view's name how many of its items belong to the chosen line of Python.
    tell(found) {
      for (const mark of this.root.querySelectorAll("[data-count]"))
        mark.textContent = mark.dataset.count in found ? ` ${found[mark.dataset.count]}` : "";
    }
  }

  Object.assign(globalThis.xlaExplorer, { Bar, SWITCHES, menu });
}
