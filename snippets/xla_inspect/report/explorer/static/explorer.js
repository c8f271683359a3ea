// The explorer: one capture at a time, its stages and passes, and a line of Python followed through all of them.
"use strict";
{
  const { Model, element, source, views } = globalThis.xlaExplorer;
  const SWITCHES = [
    ["layouts", "layouts", true],
    ["configuration", "backend config", false],
    ["metadata", "metadata", false],
  ];

  class Explorer {
    // `root` holds the explorer; `captures` lists `{ target, title, load }`, `load` giving a promise of the data.
    constructor(root, id, captures) {
      Object.assign(this, { root, id, captures, models: new Map() });
      this.state = {
        id,
        target: captures[0].target,
        view: "passes",
        pass: 0,
        place: -1,
        search: "",
        all: false,
        switches: Object.fromEntries(SWITCHES.map(([name, , on]) => [name, on])),
      };
    }

    async start(wanted = {}) {
      this.build();
      await this.show({ target: this.captures[0].target, ...wanted }, false);
    }

    build() {
      const { id } = this;
      const tabs = (name, label, entries) =>
        element(
          "div",
          { class: `choice ${name}`, role: "radiogroup", "aria-label": label },
          ...entries.map(([value, text]) =>
            element(
              "label",
              {},
              element("input", { type: "radio", name: `${id}-${name}`, value, on: { change: () => this.show({ [name]: value }) } }),
              element("span", {}, text, element("i", { "data-count": value })),
            ),
          ),
        );
      const switches = SWITCHES.map(([name, text]) =>
        element(
          "label",
          {},
          element("input", {
            type: "checkbox",
            name: `${id}-${name}`,
            on: { change: (event) => this.show({ switches: { ...this.state.switches, [name]: event.target.checked } }) },
          }),
          ` ${text}`,
        ),
      );
      this.search = element("input", {
        type: "search",
        placeholder: "find a pass",
        "aria-label": "Find a pass",
        on: { input: () => this.show({ search: this.search.value }) },
      });
      this.whole = element("input", { type: "checkbox", on: { change: () => this.show({ all: this.whole.checked }) } });
      this.copy = element("button", { type: "button", on: { click: () => this.copyLink() } }, "Copy link");
      this.options = element("div", { class: "options" }, this.search, element("label", { class: "whole" }, this.whole, " unchanged lines"), ...switches, this.copy);
      this.status = element("p", { class: "status", role: "status" });
      this.source = element("div", { class: "source", role: "group", "aria-label": "Python" });
      this.pane = element("div", { class: "pane", role: "group", "aria-label": "Stage" });
      for (const part of [this.source, this.pane]) {
        part.addEventListener("click", (event) => this.onClick(event));
        part.addEventListener("keydown", (event) => this.onKey(event, part));
      }
      this.root.replaceChildren(
        element(
          "div",
          { class: "bar" },
          tabs("target", "Target", this.captures.map(({ target, title }) => [target, title])),
          tabs("view", "Stage", Object.entries(views).map(([name, { title }]) => [name, title])),
          this.options,
        ),
        this.status,
        element("div", { class: "panes" }, this.source, this.pane),
      );
      this.root.classList.add("open");
    }

    // Change some of the state, draw what depends on it, and put the state into the address.
    async show(change, link = true) {
      const capture = this.captures.find(({ target }) => target === (change.target ?? this.state.target)) ?? this.captures[0];
      const before = this.model;
      if (!this.models.has(capture.target)) {
        this.status.textContent = `Loading ${capture.title} …`;
        this.models.set(capture.target, new Model(await capture.load()));
      }
      this.model = this.models.get(capture.target);
      // A place keeps its file and line from one target to the next, not its number.
      const kept = before && before !== this.model && this.state.place >= 0 ? this.findPlace(before.place(this.state.place)) : undefined;
      Object.assign(this.state, kept === undefined ? {} : { place: kept }, change, { target: capture.target });
      if (typeof this.state.place === "string") this.state.place = this.findPlace(this.state.place);
      // A pass may be named: the first of that name.
      if (Number.isNaN(Number(this.state.pass))) this.state.pass = this.model.data.states.findIndex((it) => it.pass === this.state.pass);
      const last = this.model.data.states.length - 1;
      this.state.pass = Math.min(Math.max(Number(this.state.pass) || 0, 0), last);
      this.draw(link);
    }

    findPlace(text) {
      const [file, number] = text.split(/:(?=\d+$)/);
      return this.model.findPlace(this.model.data.sources.findIndex(([name]) => name === file), Number(number));
    }

    draw(link) {
      const { model, state } = this;
      if (!(state.view in views)) state.view = "passes";
      const focused = this.remember();
      const place = `${state.target} ${state.place}`;
      if (place !== this.drawnPlace) {
        this.source.replaceChildren(...source(model, state));
        this.offerFocus(this.source);
        this.counts = state.place < 0 ? {} : model.count(state.place);
      }
      this.drawnPlace = place;
      this.pane.replaceChildren(...views[state.view].draw(model, state));
      this.offerFocus(this.pane);
      for (const input of this.root.querySelectorAll('.choice input[type="radio"]'))
        input.checked = [state.target, state.view].includes(input.value);
      for (const [name] of SWITCHES) this.root.querySelector(`[name="${this.id}-${name}"]`).checked = state.switches[name];
      this.search.hidden = this.whole.parentElement.hidden = state.view !== "passes";
      this.count();
      this.restore(focused);
      this.root.querySelector('[role="option"].lit')?.scrollIntoView({ block: "nearest" });
      if (link) history.replaceState(history.state, "", `#${this.link()}`);
    }

    // Say what a line became, in the status line and beside the name of each stage.
    count() {
      const { counts, model, state } = this;
      for (const mark of this.root.querySelectorAll("[data-count]"))
        mark.textContent = mark.dataset.count in counts ? ` ${counts[mark.dataset.count]}` : "";
      const row = this.chosen;
      this.status.textContent =
        state.place < 0
          ? row ? model.explain(row) : "Choose a line of Python, or an instruction."
          : `${model.place(state.place)}: ${counts.jaxpr} lines of jaxpr, ${counts.stablehlo} of StableHLO, ` +
            `${counts.before} instructions at import, ${counts.after} at the end.${row ? ` ${model.explain(row)}` : ""}`;
    }

    onClick(event) {
      const pass = event.target.closest("[data-pass]");
      if (pass) return void this.show({ pass: Number(pass.dataset.pass) });
      const line = event.target.closest("button.line");
      if (!line) return;
      const number = Number(line.dataset.instruction ?? NaN);
      const place = Number(line.dataset.place);
      this.chosen = Number.isNaN(number) ? null : this.findRow(number);
      this.show({ place: place === this.state.place && !this.chosen ? -1 : place });
    }

    findRow(number) {
      const last = this.model.data.states.length - 1;
      const at = { before: 0, after: last, passes: this.state.pass }[this.state.view] ?? last;
      const rows = [at, at - 1].filter((n) => n >= 0).flatMap((n) => this.model.module(n).flatMap((c) => c.rows));
      return rows.find((row) => row.instruction === number) ?? null;
    }

    onKey(event, part) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      if (event.target.closest('[role="listbox"]')) {
        const options = [...part.querySelectorAll('[role="option"]')].map((option) => Number(option.dataset.pass));
        const at = options.indexOf(this.state.pass);
        const next = options[Math.min(Math.max(at + step, 0), options.length - 1)];
        event.preventDefault();
        if (next !== undefined) this.show({ pass: next });
        return;
      }
      const lines = [...part.querySelectorAll("button.line, button.more")];
      const at = lines.indexOf(event.target);
      if (at < 0) return;
      event.preventDefault();
      lines[Math.min(Math.max(at + step, 0), lines.length - 1)].focus();
    }

    // One line of each pane can be reached with Tab: the lit one, else the first; arrows lead to the others.
    offerFocus(part) {
      const lines = part.querySelectorAll("button.line");
      const first = [...lines].find((line) => line.classList.contains("lit")) ?? lines[0];
      if (first) first.tabIndex = 0;
    }

    remember() {
      const active = document.activeElement;
      if (!this.root.contains(active)) return null;
      const part = [this.source, this.pane].find((each) => each.contains(active));
      if (!part) return null;
      if (active.matches('[role="listbox"]')) return { part, selector: '[role="listbox"]' };
      return { part, at: [...part.querySelectorAll("button.line")].indexOf(active) };
    }

    restore(focused) {
      if (!focused) return;
      const { part, selector, at } = focused;
      (selector ? part.querySelector(selector) : part.querySelectorAll("button.line")[at])?.focus({ preventScroll: true });
    }

    link() {
      const { target, view, pass, place } = this.state;
      const fields = { x: this.id, target, view, ...(view === "passes" ? { pass } : {}), ...(place >= 0 ? { line: this.model.place(place) } : {}) };
      return new URLSearchParams(fields).toString();
    }

    async copyLink() {
      const address = `${location.href.split("#")[0]}#${this.link()}`;
      try {
        await navigator.clipboard.writeText(address);
        this.copy.textContent = "Copied";
      } catch {
        this.status.textContent = address;
      }
    }
  }

  // The state that an address asks for, or null where it is meant for another explorer.
  const readLink = (id) => {
    const fields = new URLSearchParams(location.hash.slice(1));
    if (fields.get("x") !== id) return null;
    const wanted = Object.fromEntries([...fields].filter(([name]) => ["target", "view", "pass"].includes(name)));
    return { ...wanted, ...(fields.has("line") ? { place: fields.get("line") } : {}) };
  };

  Object.assign(globalThis.xlaExplorer, { Explorer, readLink });
}
