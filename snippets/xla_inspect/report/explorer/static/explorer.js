// The explorer: one capture at a time, its stages and passes, and a line of Python followed through all of them.
"use strict";
{
  const { Model, Reasons, element, count, source, views, readLink, writeLink, putLink } = globalThis.xlaExplorer;
  const SWITCHES = [
    ["layouts", "layouts", true],
    ["configuration", "backend config", false],
    ["metadata", "metadata", false],
  ];
  const STOPS = "button.line, button.more, .stop";
  const LIT = ".lit:is([data-place], [data-places])";
  const HOVER = 120; // milliseconds that the pointer rests on an instruction until its reasons are asked for
  const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

  // Scroll a part, and nothing around it, as far as it takes to see a thing in it.
  const bring = (thing, part) => {
    if (!thing) return;
    const [inner, outer] = [thing.getBoundingClientRect(), part.getBoundingClientRect()];
    if (inner.top >= outer.top + 24 && inner.bottom <= outer.bottom) return;
    part.scrollTop += inner.top - outer.top - Math.max(24, (outer.height - inner.height) / 3);
  };

  class Explorer {
    // `root` holds the explorer; `captures` lists `{ target, title, load }`, `load` giving a promise of the data;
    // `style` is the element that styles it: it lives in a tree of its own, which no rule of the page reaches.
    constructor(root, id, captures, style) {
      Object.assign(this, { root, id, captures, models: new Map(), coming: new Map(), asked: 0 });
      this.shadow = root.shadowRoot ?? root.attachShadow({ mode: "open" });
      this.state = {
        id,
        target: captures[0].target,
        view: "passes",
        pass: 0,
        place: -1,
        chosen: null,
        donated: false,
        search: "",
        all: false,
        switches: Object.fromEntries(SWITCHES.map(([name, , on]) => [name, on])),
      };
      this.build(style);
    }

    async start(wanted = {}) {
      this.initial = { target: this.captures[0].target, view: "passes", pass: 0, place: -1, donated: false, ...wanted };
      window.addEventListener("popstate", () => this.follow());
      // Keys that are typed here are not meant for the page.
      this.root.addEventListener("keydown", (event) => event.stopPropagation());
      await this.show({ ...this.initial, ...readLink(this.id) }, "keep");
    }

    // The address has changed: Back, Forward, or a link.
    follow() {
      const wanted = readLink(this.id);
      const isOther = new URLSearchParams(location.hash.slice(1)).has("x") && !wanted;
      if (!isOther) this.show({ ...this.initial, chosen: null, ...wanted }, "keep");
    }

    build(style) {
      const choice = (name, label, entries) => {
        const radio = (value) =>
          element("input", { type: "radio", name, value, on: { change: () => this.show({ [name]: value }, "push") } });
        const labels = entries.map(([value, text]) =>
          element("label", {}, radio(value), element("span", {}, text, element("i", { "data-count": value }))),
        );
        return element("div", { class: `choice ${name}`, role: "radiogroup", "aria-label": label }, ...labels);
      };
      const box = (name, text, change) =>
        element("label", { class: name }, element("input", { type: "checkbox", name, on: { change } }), ` ${text}`);
      const switches = SWITCHES.map(([name, text]) =>
        box(name, text, (event) => this.show({ switches: { ...this.state.switches, [name]: event.target.checked } })),
      );
      const button = (text, click) => element("button", { type: "button", on: { click } }, text);
      this.search = element("input", {
        type: "search",
        placeholder: "find a pass",
        "aria-label": "Find a pass by its name, its pipeline or what it did",
        on: { input: () => this.show({ search: this.search.value }) },
      });
      this.whole = box("all", "unchanged lines", (event) => this.show({ all: event.target.checked }));
      this.copy = button("Copy link", () => this.copyLink());
      const larger = button("Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()));
      this.status = element("p", { class: "status", role: "status" });
      this.reasons = new Reasons((change, history) => this.show(change, history));
      this.source = element("div", { class: "source", role: "group", "aria-label": "Python" });
      this.pane = element("div", { class: "pane", role: "group", "aria-label": "What the compiler made" });
      for (const part of [this.source, this.pane]) {
        part.addEventListener("click", (event) => this.onClick(event));
        part.addEventListener("keydown", (event) => this.onKey(event, part));
        // Wherever the focus went, Tab comes back to.
        // A view that places its parts when it is seen says when it has.
        part.addEventListener("placed", () => this.state.place >= 0 && bring(part.querySelector(LIT), part));
        part.addEventListener("focusin", (event) => this.offerFocus(part, event.target.closest(STOPS)));
      }
      this.pane.addEventListener("pointerover", (event) => this.explainSoon(event.target));
      this.pane.addEventListener("focusin", (event) => this.explainSoon(event.target));
      this.pane.addEventListener("pointerleave", () => this.explainSoon(null));
      const named = Object.entries(views).filter(([, view]) => view);
      const targets = this.captures.map(({ target, title }) => [target, title]);
      const bar = element(
        "div",
        { class: "bar" },
        choice("target", "Target", targets),
        choice("view", "View", named.map(([name, { title }]) => [name, title])),
        element("div", { class: "options" }, this.search, this.whole, ...switches, this.copy, document.fullscreenEnabled ? larger : ""),
      );
      const panes = element("div", { class: "panes" }, this.source, this.pane);
      this.shadow.replaceChildren(style, element("div", { class: "all" }, bar, element("div", { class: "about" }, this.status, this.reasons.root), panes));
    }

    // Change some of the state and draw what depends on it. `history` says what the address does: `push` makes a new
    // entry of it, `replace` changes the last one, `keep` leaves it alone.
    async show(change, history = "replace") {
      const asked = ++this.asked;
      const wanted = change.target ?? this.state.target;
      const capture = this.captures.find(({ target }) => target === wanted) ?? this.captures[0];
      const model = await this.load(capture);
      if (!model || asked !== this.asked) return;
      const [old, before] = [this.model, { ...this.state }];
      const state = this.state;
      Object.assign(state, change, { target: capture.target });
      this.model = model;
      if (old && old !== model) {
        // A place keeps its file and line from one target to the next, and a pass its name, not their numbers.
        if (!("place" in change)) state.place = this.findPlace(old.place(state.place));
        if (!("pass" in change)) state.pass = model.findPass(old, state.pass);
        state.chosen = null;
      }
      if (typeof state.place === "string") state.place = this.findPlace(state.place);
      if (Number.isNaN(Number(state.pass))) state.pass = model.data.states.findIndex((it) => it.pass === state.pass);
      state.pass = Math.min(Math.max(Number(state.pass) || 0, 0), model.last);
      if (!views[state.view]) state.view = "passes";
      if (views[state.view].isOffered?.(model) === false) state.view = "after";
      this.draw(before, old !== model);
      if (history !== "keep") putLink(this.link(), history === "push");
    }

    // The model of a capture, or null where its data does not come: then the status says what to do.
    async load(capture) {
      if (this.models.has(capture.target)) return this.models.get(capture.target);
      this.status.textContent = `Loading ${capture.title} …`;
      try {
        // Who asks while it comes waits for the same.
        if (!this.coming.has(capture.target)) this.coming.set(capture.target, capture.load());
        const data = await this.coming.get(capture.target);
        if (!this.models.has(capture.target)) this.models.set(capture.target, new Model(data, capture.loadDetails));
      } catch (error) {
        this.coming.delete(capture.target);
        const again = element("button", { type: "button", on: { click: () => this.show({ target: capture.target }, "push") } }, "Try again");
        this.status.replaceChildren(`The data for ${capture.title} did not load: ${error.message}. Check the connection. `, again);
        this.check("target", this.model ? this.state.target : capture.target);
        return null;
      }
      return this.models.get(capture.target);
    }

    findPlace(text) {
      const [file, number] = text.split(/:(?=\d+$)/);
      return this.model.findPlace(this.model.data.sources.findIndex(([name]) => name === file), Number(number));
    }

    draw(before, isNew) {
      const { model, state, pane } = this;
      const differs = (...names) => isNew || names.some((name) => before[name] !== state[name]);
      const view = views[state.view];
      const [focused, top] = [this.remember(pane), pane.scrollTop];
      if (isNew) this.source.replaceChildren(...source(model, state));
      if (differs("view", "search", "all", "switches", "donated")) {
        pane.replaceChildren(...view.draw(model, state, (change) => this.show(change)));
        pane.className = `pane ${state.view}`;
        pane.scrollTop = isNew || before.view !== state.view ? 0 : top;
      } else if (before.pass !== state.pass && view.update && !view.update(pane, model, state)) {
        pane.replaceChildren(...view.draw(model, state, (change) => this.show(change)));
      }
      this.light();
      this.check("target", state.target);
      this.check("view", state.view);
      for (const [name, it] of Object.entries(views))
        this.shadow.querySelector(`.choice input[name="view"][value="${name}"]`).parentElement.hidden = it.isOffered?.(model) === false;
      for (const [name] of SWITCHES) this.shadow.querySelector(`input[name="${name}"]`).checked = state.switches[name];
      this.search.hidden = this.whole.hidden = state.view !== "passes";
      for (const [name] of SWITCHES) this.shadow.querySelector(`label.${name}`).hidden = !view.printsRows;
      for (const part of [this.source, pane]) this.offerFocus(part);
      this.tell();
      this.restore(pane, focused);
      if (differs("place")) bring(this.source.querySelector(LIT), this.source);
      if (differs("place", "chosen", "view") && (state.place >= 0 || state.chosen !== null))
        bring(pane.querySelector(".chosen") ?? pane.querySelector(LIT), pane);
      // Where no line is chosen, the first that something came of is seen.
      if (isNew && state.place < 0) bring(this.source.querySelector("button.line"), this.source);
      const options = pane.querySelector('[role="listbox"]');
      if (options) bring(options.querySelector('[aria-selected="true"]'), options);
    }

    check(name, value) {
      for (const input of this.shadow.querySelectorAll(`.choice input[name="${name}"]`)) input.checked = input.value === value;
    }

    // Light what belongs to the place: in every view, all that carries its number; folds that hold some of it open.
    // The chosen instruction, and what holds it, are marked besides.
    light() {
      const { place, chosen } = this.state;
      const set = (each, isLit) => {
        each.classList.toggle("lit", isLit);
        if (each.hasAttribute("aria-pressed")) each.setAttribute("aria-pressed", String(isLit));
      };
      for (const each of this.shadow.querySelectorAll(LIT)) set(each, false);
      for (const each of this.shadow.querySelectorAll(".chosen")) each.classList.remove("chosen");
      if (place < 0 && chosen === null) return;
      for (const fold of this.shadow.querySelectorAll("details")) fold.reveal?.(place, chosen);
      if (chosen !== null)
        for (const each of this.pane.querySelectorAll(`[data-instruction="${chosen}"], [data-holds~="${chosen}"]`)) each.classList.add("chosen");
      if (place < 0) return;
      for (const each of this.shadow.querySelectorAll(`[data-place="${place}"], [data-places~="${place}"]`)) set(each, true);
    }

    // Say what a line became, in the status line and beside the name of each view.
    tell() {
      const { model, state } = this;
      const counts = Object.entries(views).filter(([, view]) => state.place >= 0 && view?.count);
      const found = Object.fromEntries(counts.map(([name, view]) => [name, view.count(model, state.place, state)]));
      for (const mark of this.shadow.querySelectorAll("[data-count]"))
        mark.textContent = mark.dataset.count in found ? ` ${found[mark.dataset.count]}` : "";
      const row = state.chosen === null ? null : this.findRow(state.chosen);
      const origin = row ? model.explain(row) : "";
      this.explain(state.chosen);
      if (state.place < 0) this.status.replaceChildren(origin || "Choose a line of Python, or an instruction.", ...this.offer(row));
      else
        this.status.replaceChildren(
          element("b", {}, model.place(state.place)),
          `: ${count(found.jaxpr, "line")} of the jaxpr, ${found.stablehlo} of StableHLO, ` +
            `${count(found.before, "instruction")} at import, ${found.after} at the end.${origin ? ` ${origin}` : ""}`,
          ...this.offer(row),
        );
    }

    // Ways from the chosen instruction to where else it is: the code of its kernel, and the optimized HLO.
    offer(row) {
      if (!row) return [];
      const { model, state } = this;
      const isLeft = model.module(model.last).some((c) => c.rows.some((each) => each.instruction === row.instruction));
      const ways = [
        ["code", "Its code", model.hasCode(row.instruction)],
        ["after", "In the optimized HLO", isLeft],
      ];
      return ways
        .filter(([view, , leads]) => leads && view !== state.view)
        .flatMap(([view, text]) => [" ", element("button", { type: "button", on: { click: () => this.show({ view }, "push") } }, text)]);
    }

    // Say what the compiler decided about an instruction.
    explain(number) {
      const row = number === null ? null : this.findRow(number);
      this.reasons.tell(this.model, row ? number : null, row ? this.model.name(row) : "");
    }

    // The same when the pointer, or the focus, rests on one; of the chosen one again when it leaves.
    explainSoon(target) {
      clearTimeout(this.resting);
      if (!this.model?.data.reasons) return;
      const number = target?.closest("[data-instruction]")?.dataset.instruction;
      if (target && number === undefined) return;
      this.resting = setTimeout(() => this.explain(number === undefined ? this.state.chosen : Number(number)), HOVER);
    }

    onClick(event) {
      const pass = event.target.closest("[data-pass]");
      if (pass) return void this.show({ pass: Number(pass.dataset.pass) });
      const line = event.target.closest("button:is(.line, .stop)[data-place]");
      if (!line) return;
      const [place, number] = [Number(line.dataset.place), Number(line.dataset.instruction ?? NaN)];
      const chosen = Number.isNaN(number) ? null : number;
      const again = place === this.state.place && chosen === this.state.chosen;
      this.show({ place: again ? -1 : place, chosen: again ? null : chosen }, "push");
    }

    findRow(number) {
      const { before, after, passes } = { before: [0], after: [this.model.last], passes: [this.state.pass, this.state.pass - 1] };
      const states = { before, after, passes }[this.state.view] ?? after;
      for (const at of [...states, ...before, ...after]) {
        const rows = at < 0 ? [] : this.model.module(at).flatMap((c) => c.rows);
        const row = rows.find((each) => each.instruction === number);
        if (row) return row;
      }
      return null;
    }

    onKey(event, part) {
      const step = STEPS[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      const isList = event.target.closest('[role="listbox"]');
      const stops = isList ? [...part.querySelectorAll('[role="option"]')] : this.stops(part);
      const at = isList ? stops.findIndex((it) => it.getAttribute("aria-selected") === "true") : stops.indexOf(event.target);
      if (at < 0 && !isList) return;
      event.preventDefault();
      const next = stops[Math.min(Math.max(at + step, 0), stops.length - 1)];
      if (isList) this.show({ pass: Number(next.dataset.pass) });
      else next.focus();
    }

    stops(part) {
      return [...part.querySelectorAll(STOPS)].filter((each) => each.checkVisibility());
    }

    // One stop of each pane can be reached with Tab: where the focus is or was, the lit one, else the first.
    // Arrows lead to the others. A pane without any can itself be reached, to be scrolled.
    offerFocus(part, wanted = null) {
      const old = part.querySelector(`:is(${STOPS})[tabindex="0"]`);
      const found = wanted ?? old ?? part.querySelector(`.lit:is(${STOPS})`) ?? part.querySelector(STOPS);
      if (old && old !== found) old.tabIndex = -1;
      if (found) found.tabIndex = 0;
      if (found || part.querySelector("[tabindex='0']")) part.removeAttribute("tabindex");
      else part.tabIndex = 0;
    }

    // Drawing a pane anew must not lose the focus: it goes to the same place in order.
    remember(part) {
      const active = this.shadow.activeElement;
      if (!active || !part.contains(active)) return null;
      if (active.matches('[role="listbox"]')) return { selector: '[role="listbox"]', at: 0 };
      const selector = active.matches(STOPS) ? STOPS : active.localName;
      return { selector, at: [...part.querySelectorAll(selector)].indexOf(active), active };
    }

    restore(part, focused) {
      if (!focused || focused.active?.isConnected) return;
      part.querySelectorAll(focused.selector)[focused.at]?.focus({ preventScroll: true });
    }

    link() {
      return writeLink(this.state, this.model.place(this.state.place));
    }

    async copyLink() {
      const address = `${location.href.split("#")[0]}#${this.link()}`;
      try {
        await navigator.clipboard.writeText(address);
        this.status.textContent = "The link is copied.";
      } catch {
        this.status.textContent = address;
      }
    }
  }

  Object.assign(globalThis.xlaExplorer, { Explorer });
}
