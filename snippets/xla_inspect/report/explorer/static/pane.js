// A pane shows one offer in one view, at one pass. An explorer has one pane, or two side by side.
"use strict";
{
  const X = globalThis.xlaExplorer;
  const { element, views, fitting, Stepper } = X;
  const STOPS = "button.line, button.more, .stop";
  const LIT = ".lit:is([data-place], [data-places])";
  const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

  // Scroll a part, or the drawing's viewport in it that contains the element, just far enough to show the element.
  const bring = (thing, part) => {
    if (!thing) return;
    part = thing.closest(".window") ?? part;
    const [inner, outer] = [thing.getBoundingClientRect(), part.getBoundingClientRect()];
    if (inner.top >= outer.top + 24 && inner.bottom <= outer.bottom) return;
    part.scrollTop += inner.top - outer.top - Math.max(24, (outer.height - inner.height) / 3);
  };

  // Make one stop of a part reachable with Tab: `wanted`, else the previous stop, else the highlighted one, else the
  // first. The arrow keys reach the other stops. A part without stops gets the focus itself, for scrolling.
  const offerFocus = (part, wanted = null) => {
    const old = part.querySelector(`:is(${STOPS})[tabindex="0"]`);
    const found = wanted ?? old ?? part.querySelector(`.lit:is(${STOPS})`) ?? part.querySelector(STOPS);
    if (old && old !== found) old.tabIndex = -1;
    if (found) found.tabIndex = 0;
    if (found || part.querySelector("[tabindex='0']")) part.removeAttribute("tabindex");
    else part.tabIndex = 0;
  };

  // Move between stops with the arrow keys. In a list of passes, call `choose` with the next pass instead.
  const stepOnKey = (event, part, choose) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const list = event.target.closest('[role="listbox"]');
    const stops = [...part.querySelectorAll(list ? '[role="option"]' : STOPS)].filter((each) => list || each.checkVisibility());
    const at = list ? stops.findIndex((it) => it.getAttribute("aria-selected") === "true") : stops.indexOf(event.target);
    if (at < 0 && !list) return;
    event.preventDefault();
    const next = stops[Math.min(Math.max(at + step, 0), stops.length - 1)];
    if (list) choose(Number(next.dataset.pass));
    else next.focus();
  };

  class Pane {
    // The pane calls `act(pane, change, history)` when the reader changes something; see `Explorer.show`.
    constructor(id, offers, act, switches, label = "Result") {
      Object.assign(this, { id, offers, act, asked: 0, model: null, offer: null });
      this.state = { id, program: "", target: "", view: "passes", pass: 0, place: -1, chosen: null, donated: false, search: "", all: false, switches };
      this.part = element("div", { class: "pane", role: "group", "aria-label": "What the compiler made" });
      this.part.addEventListener("click", (event) => this.onClick(event));
      this.part.addEventListener("keydown", (event) => stepOnKey(event, this.part, (pass) => this.act(this, { pass })));
      // A view that is laid out only when it becomes visible may send `placed` afterwards.
      this.part.addEventListener("placed", () => this.state.place >= 0 && bring(this.part.querySelector(LIT), this.part));
      // Tab returns to the stop that last had the focus.
      this.part.addEventListener("focusin", (event) => offerFocus(this.part, event.target.closest(STOPS)));
      this.stepper = new Stepper(this);
      this.find = new globalThis.xlaExplorer.Find(this);
      this.root = element("section", { class: "side", "aria-label": label }, this.stepper.root, this.find.root, this.part);
    }

    // Change part of the state and redraw what depends on it. The old result stays until the new one has loaded. Return
    // whether the change took effect.
    async show(change, tell) {
      const asked = ++this.asked;
      const { program = this.state.program, target = this.state.target } = change;
      const offer = this.offers.find({ program, target });
      const model = this.offers.peek(offer) ?? (await this.offers.load(offer, tell));
      if (!views[fitting(model, change.view ?? this.state.view)].draw) await X.more();
      if (asked !== this.asked) return false;
      const [old, before, state] = [this.model, { ...this.state }, this.state];
      Object.assign(state, change, { program: offer.program, target: offer.target });
      Object.assign(this, { model, offer });
      if (old && old !== model) {
        // The numbers of places and passes differ between models, so translate them by file and line, and by pass name.
        if (!("place" in change)) state.place = this.findPlace(old.place(state.place));
        if (!("pass" in change) && this.hasStates(model) && this.hasStates(old)) state.pass = model.findPass(old, state.pass);
        if (!("chosen" in change)) state.chosen = null;
      }
      if (typeof state.place === "string") state.place = this.findPlace(state.place);
      state.pass = this.readPass(state.pass);
      state.view = fitting(model, state.view);
      this.draw(before, old !== model);
      return true;
    }

    hasStates(model) {
      return model.last >= 0;
    }

    // Return the number of a pass given by number or by name: the first pass of that name, else the first pass whose
    // name contains it. If no pass is named `fusion`, that name means the pass that fuses most.
    readPass(pass) {
      if (!this.hasStates(this.model)) return 0;
      const { states } = this.model.data;
      const named = (isMeant) => states.findIndex((it) => it.pass && isMeant(it.pass));
      const found = [named((it) => it === pass), pass === "fusion" ? this.findFusion() : named((it) => it.includes(pass)), 0].find((at) => at >= 0);
      const number = Number.isNaN(Number(pass)) ? found : Number(pass) || 0;
      return Math.min(Math.max(number, 0), this.model.last);
    }

    // Return the pass with "fusion" in its name that adds the most fusions, or the last state if there is no such pass.
    findFusion() {
      if (!this.hasStates(this.model)) return 0;
      const fusing = this.model.data.states.map((it, at) => [it, at]).filter(([it]) => /fusion/i.test(it.pass ?? ""));
      const made = (it, at) => (it.counts?.fusion ?? 0) - (this.model.data.states[at - 1]?.counts?.fusion ?? 0);
      return fusing.sort(([a, m], [b, n]) => made(b, n) - made(a, m))[0]?.[1] ?? this.model.last;
    }

    findPlace(text) {
      const [file, number] = String(text).split(/:(?=\d+$)/);
      const at = this.model.data.sources.findIndex(([name]) => name === file);
      return at < 0 ? -1 : this.model.findPlace(at, Number(number));
    }

    place() {
      return this.model?.place(this.state.place) ?? "";
    }

    draw(before, isNew) {
      const { model, state, part } = this;
      const differs = (...names) => isNew || names.some((name) => before[name] !== state[name]);
      const view = views[state.view];
      const [focused, top] = [this.remember(), part.scrollTop];
      const show = (change, history) => this.act(this, change, history);
      if (differs("view", "search", "all", "switches", "donated")) {
        part.replaceChildren(...view.draw(model, state, show));
        part.className = `pane ${state.view}`;
        part.scrollTop = isNew || before.view !== state.view ? 0 : top;
      } else if (before.pass !== state.pass && view.update && !view.update(part, model, state)) {
        part.replaceChildren(...view.draw(model, state, show));
      }
      this.stepper.update();
      this.relight();
      offerFocus(part);
      this.restore(focused);
      if (differs("place", "chosen", "view") && (state.place >= 0 || state.chosen !== null)) this.bringChosen();
      const options = part.querySelector('[role="listbox"]');
      if (options) bring(options.querySelector('[aria-selected="true"]'), options);
    }

    bringChosen() {
      bring(this.part.querySelector(".chosen") ?? this.part.querySelector(LIT), this.part);
    }

    // Highlight everything that carries the number of the place, and open the folds that contain some of it. Also mark
    // the chosen instruction and the elements that contain it.
    relight() {
      const { place, chosen } = this.state;
      light(this.part, place);
      for (const each of this.part.querySelectorAll(".chosen")) each.classList.remove("chosen");
      if (place < 0 && chosen === null) return;
      for (const fold of this.part.querySelectorAll(".reaches, details")) fold.reveal?.(place, chosen);
      if (chosen !== null)
        for (const each of this.part.querySelectorAll(`[data-instruction="${chosen}"], [data-holds~="${chosen}"]`)) each.classList.add("chosen");
      light(this.part, place);
    }

    onClick(event) {
      if (this.links?.follow(this, event.target)) return;
      const pass = event.target.closest("[data-pass]");
      if (pass) return void this.act(this, { pass: Number(pass.dataset.pass) });
      const line = event.target.closest("button:is(.line, .stop)[data-place]");
      if (line) this.choose(Number(line.dataset.place), Number(line.dataset.instruction ?? NaN));
    }

    // Choose a place and an instruction. If they are already chosen, clear the choice.
    choose(place, number) {
      const chosen = Number.isNaN(number) ? null : number;
      const again = place === this.state.place && chosen === this.state.chosen;
      this.act(this, { place: again ? -1 : place, chosen: again ? null : chosen }, "push");
    }

    // Return the number of the module state that the view shows.
    at() {
      return { before: 0, passes: this.state.pass }[this.state.view] ?? this.model.last;
    }

    findRow(number) {
      if (number === null || !this.hasStates(this.model)) return null;
      const all = [this.at(), ...(this.state.view === "passes" ? [this.state.pass - 1] : []), 0, this.model.last];
      for (const at of new Set(all)) {
        const rows = at < 0 ? [] : this.model.module(at).flatMap((c) => c.rows);
        const row = rows.find((each) => each.instruction === number);
        if (row) return row;
      }
      return null;
    }

    // Remember the focus before a redraw. `restore` focuses the element at the same position afterwards.
    remember() {
      const active = this.part.getRootNode().activeElement;
      if (!active || !this.part.contains(active)) return null;
      if (active.matches('[role="listbox"]')) return { selector: '[role="listbox"]', at: 0 };
      const selector = active.matches(STOPS) ? STOPS : active.localName;
      return { selector, at: [...this.part.querySelectorAll(selector)].indexOf(active), active };
    }

    restore(focused) {
      if (!focused || focused.active?.isConnected) return;
      this.part.querySelectorAll(focused.selector)[focused.at]?.focus({ preventScroll: true });
    }
  }

  // Highlight the elements of a part that carry the number of a place, and no others.
  const light = (part, place) => {
    const set = (each, isLit) => {
      each.classList.toggle("lit", isLit);
      if (each.hasAttribute("aria-pressed")) each.setAttribute("aria-pressed", String(isLit));
    };
    const meant = place < 0 ? [] : [...part.querySelectorAll(`[data-place="${place}"], [data-places~="${place}"]`)];
    for (const each of part.querySelectorAll(LIT)) if (!meant.includes(each)) set(each, false);
    for (const each of meant) set(each, true);
  };

  Object.assign(globalThis.xlaExplorer, { Pane, bring, light, offerFocus, stepOnKey, STOPS, LIT });
}
