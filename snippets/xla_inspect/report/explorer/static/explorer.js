// The explorer: it shows the stages and passes of a program on a target, and follows a line of Python through all of
// them. It can show two results side by side.
"use strict";
{
  const X = globalThis.xlaExplorer;
  const { Hover, Links, findWord } = X;
  const { Offers, Pane, Bar, SWITCHES, SourcePane, Reasons, TakeAway, Keys, Status, element, views, dye, isOffered } = X;
  const { readLink, writeLink, putLink, addGrips } = X;
  const HOVER = 120; // milliseconds of hovering over an instruction before its reasons are loaded

  class Explorer {
    // `root` is the host element, `offers` lists what the explorer can show (see `offers.js`), and `style` is a style
    // element for the shadow tree, which the page's rules do not reach. Options: `noSource` if the page shows the
    // source itself and listens for `explorer:shown`; `subject`, the program's name on a command line.
    constructor(root, id, offers, style, options = {}) {
      Object.assign(this, { root, id, options, offers: new Offers(offers), second: null, initial: {} });
      this.shadow = root.shadowRoot ?? root.attachShadow({ mode: "open" });
      const switches = Object.fromEntries(SWITCHES.map(([name, , on]) => [name, on]));
      const act = (pane, change, history) => this.act(pane, change, history);
      this.makePane = (name, label) => new Pane(name, this.offers, act, { ...switches }, label);
      this.first = this.acting = this.makePane(id);
      root.classList.toggle("no-source", Boolean(options.noSource));
      this.build(style);
    }

    // The state of the first pane. `pair` is the state of the second pane, `{ program, target, view, pass }`, or null.
    get state() {
      const { program, target, view, pass } = this.second?.state ?? {};
      return { ...this.first.state, pair: this.second ? { program, target, view, pass } : null };
    }

    get model() {
      return this.first.model;
    }

    get panes() {
      return this.second ? [this.first, this.second] : [this.first];
    }

    async start(wanted = {}) {
      const { program, target } = this.offers.list[0];
      this.initial = { program: wanted.program ?? this.offers.find(wanted).program ?? program, target, view: "passes", pass: 0, place: -1, donated: false, pair: null, ...wanted };
      window.addEventListener("popstate", () => this.follow());
      // Load the remaining scripts when the pointer first enters, before the reader needs them.
      this.root.addEventListener("pointerenter", () => X.more().catch(() => null), { once: true });
      // Keep keys that are typed in the explorer from triggering the page's shortcuts.
      this.root.addEventListener("keydown", (event) => event.stopPropagation());
      await this.show({ ...this.initial, ...readLink(this.id) }, "keep");
    }

    // Follow a change of the URL: Back, Forward or a link.
    follow() {
      const wanted = readLink(this.id);
      const isOther = new URLSearchParams(location.hash.slice(1)).has("x") && !wanted;
      if (!isOther) this.show({ ...this.initial, chosen: null, pair: null, ...wanted }, "keep");
    }

    // Replace the offers. The old result stays until the new one has loaded, and view, pass and place are kept.
    // `current` names the result to show if the old one is no longer offered.
    async offer(offers, { current } = {}) {
      this.offers.replace(offers);
      const wanted = typeof current === "string" ? { target: current } : (current ?? {});
      const keep = ({ program, target }) => this.offers.list.find((it) => it.program === program && it.target === target);
      for (const pane of this.panes) {
        const { program, target } = keep(pane.state) ?? this.offers.find({ ...pane.state, ...wanted });
        await this.act(pane, { program, target }, "keep");
      }
    }

    // Replace the data of the shown program's offer for a target, if there is one, with more complete data.
    async refresh(target, data) {
      const offer = this.offers.find({ program: this.first.state.program, target });
      if (offer?.target !== target) return;
      this.offers.refresh(offer, data);
      for (const pane of this.panes) if (pane.offer === offer) await this.act(pane, {}, "keep");
    }

    // Highlight a place, `file:line`, that was chosen outside the explorer.
    async light(place) {
      if (this.model) await this.act(this.first, { place: place ?? -1, chosen: null }, "replace");
    }

    build(style) {
      const button = (text, click, title) => element("button", { type: "button", title, on: { click } }, text);
      const full = () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen());
      this.keys = new Keys(this);
      this.takeAway = new TakeAway(this);
      this.compare = button("Compare", () => this.togglePair(), "Show another target, pass or program next to this one");
      this.compare.setAttribute("aria-pressed", "false");
      this.full = button("Full screen", full);
      const tools = [button("Find", () => this.acting.find.open(), "Find in the text: Ctrl F, or ⌘ F"), this.compare, this.takeAway.root, document.fullscreenEnabled ? this.full : "", button("?", () => this.keys.open(), "Keys")];
      this.bar = new Bar(this, tools);
      this.status = new Status(this);
      this.reasons = new Reasons((change, history) => this.act(this.acting, change, history));
      this.source = new SourcePane((place, number) => this.chooseSource(place, number));
      this.sides = element("div", { class: "panes" }, this.options.noSource ? "" : this.source.part, this.first.root);
      this.links = this.first.links = new Links(this);
      this.about = element("div", { class: "about" }, this.status.root, this.links.root, this.reasons.root);
      this.all = element("div", { class: this.root.classList.contains("whole") ? "all whole" : "all" }, this.bar.root, this.about, this.sides);
      this.hover = new Hover(this.shadow, (told) => {
        const pane = this.panes.find((each) => each.part.contains(told));
        return pane?.model ? findWord(pane.model, told) : null;
      });
      this.shadow.replaceChildren(style, this.all, this.keys.root, this.hover.root);
      this.shadow.addEventListener("keydown", (event) => {
        if (event.key.toLowerCase() !== "f" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
        event.preventDefault();
        (this.panes.find((each) => each.root.contains(event.target)) ?? this.first).find.open();
      });
      this.listen(this.first);
      this.grips = addGrips(this);
    }

    listen(pane) {
      pane.part.addEventListener("pointerover", (event) => this.explainSoon(pane, event.target));
      pane.part.addEventListener("focusin", (event) => this.explainSoon(pane, event.target));
      pane.part.addEventListener("pointerleave", () => this.explainSoon(pane, null));
    }

    // Change part of the state and redraw what depends on it. `history` says how the URL changes: `push` adds a history
    // entry, `replace` changes the current entry, and `keep` leaves the URL unchanged.
    async show({ pair, ...change }, history = "replace") {
      const isDrawn = await this.act(this.first, change, pair === undefined ? history : "keep");
      if (pair === undefined || !isDrawn) return;
      await this.setPair(pair);
      this.write(history);
    }

    // Change the state of one pane. A change of the place or the chosen instruction also applies to the other pane.
    async act(pane, change, history = "replace") {
      const isFirst = !pane.model;
      this.acting = pane;
      try {
        this.status.expect(this.offers.find({ ...pane.state, ...change }), this.offers);
        if (!(await pane.show(change, (text) => this.status.say(text)))) return false;
      } catch (error) {
        this.status.fail(pane, change, error);
        this.bar.check("target", pane.state.target);
        this.bar.check("program", pane.state.program);
        return false;
      }
      this.pair?.follow(pane, change);
      this.update(isFirst || "place" in change);
      if (history === "push" && "place" in change && getComputedStyle(this.sides).flexDirection === "column") this.about.scrollIntoView({ block: "nearest" });
      this.write(history);
      return true;
    }

    write(history) {
      if (history !== "keep") putLink(this.link(), history === "push");
    }

    // Redraw the parts around the panes.
    update(isMoved) {
      const { first, source } = this;
      const shown = this.acting.model && this.isOtherSource() ? this.acting : first;
      if (!first.model) return;
      if (source.model !== shown.model) {
        const hadNone = !source.model;
        source.draw(shown.model, shown.state);
        dye(source.part, source.paint(shown.model));
        isMoved ||= hadNone;
      }
      for (const pane of this.panes) {
        if (!pane.model || pane.dyed === pane.model) continue;
        dye(pane.part, source.paint(pane.model));
        pane.dyed = pane.model;
      }
      source.light(shown.state.place, isMoved);
      this.bar.update(first, this.offers, Boolean(this.second));
      this.tell();
      this.pair?.update();
      this.takeAway.update();
      const detail = { place: first.place() || null, colours: source.listColours(first.model), state: this.state };
      this.root.dispatchEvent(new CustomEvent("explorer:shown", { bubbles: true, detail }));
    }

    isOtherSource() {
      if (this.acting === this.first || !this.first.model) return false;
      const [a, b] = [this.first, this.acting].map((pane) => JSON.stringify(pane.model.data.sources));
      return a !== b;
    }

    // Report what the chosen line became, in the status line and next to the name of each view.
    tell() {
      const { model, state } = this.first;
      if (state.place >= 0 && !views.code.draw) X.more().then(() => this.tell(), () => null);
      const counts = Object.entries(views).filter(([name, view]) => state.place >= 0 && view?.count && isOffered(model, name));
      const found = Object.fromEntries(counts.map(([name, view]) => [name, view.count(model, state.place, state)]));
      this.bar.tell(found);
      this.status.tell(this.acting, this.acting === this.first ? found : null);
      this.links.update(this.acting);
      this.explain(this.acting, this.acting.state.chosen);
    }

    // Show the compiler's decisions about an instruction.
    explain(pane, number) {
      const row = pane.findRow(number);
      this.reasons.tell(pane.model, row ? number : null, row ? pane.model.name(row) : "");
    }

    // Explain the instruction under the pointer or the focus after a delay. When they leave, explain the chosen one.
    explainSoon(pane, target) {
      clearTimeout(this.resting);
      const number = target?.closest("[data-instruction]")?.dataset.instruction;
      this.pair?.point(pane, number === undefined ? null : Number(number));
      if (!pane.model?.data.reasons || (target && number === undefined)) return;
      this.resting = setTimeout(() => this.explain(pane, number === undefined ? pane.state.chosen : Number(number)), HOVER);
    }

    chooseSource(place, number) {
      const shown = this.panes.find((pane) => pane.model === this.source.model) ?? this.first;
      shown.choose(place, number);
    }

    // Apply a switch to all panes, so that all panes print rows in the same way.
    async switch(name, isOn) {
      for (const pane of this.panes) await this.act(pane, { switches: { ...pane.state.switches, [name]: isOn } });
    }

    async switchAll(all) {
      for (const pane of this.panes) await this.act(pane, { all });
    }

    // Open or close the second pane.
    async togglePair() {
      const { state, offer } = this.first;
      if (this.second) await this.show({ pair: null }, "push");
      else {
        const { program, target } = this.offers.next(offer);
        const isOther = target !== state.target || program !== state.program;
        // The imported module has no changes to compare, so show the fusion pass instead.
        const first = isOther && state.view === "passes" && !state.pass ? { pass: "fusion" } : {};
        await this.show({ ...first, pair: { program, target, view: state.view, pass: isOther ? "fusion" : state.pass } }, "push");
      }
    }

    async setPair(wanted) {
      if (!wanted) {
        this.pair?.close();
        this.second?.root.remove();
        Object.assign(this, { pair: null, second: null, acting: this.first });
      } else {
        try {
          await X.more();
        } catch (error) {
          return this.status.say(`The second pane did not load: ${error.message}. Check the connection.`);
        }
        const isNew = !this.second;
        if (isNew) {
          this.second = this.makePane(`${this.id}-beside`, "Result beside");
          this.second.state.switches = { ...this.first.state.switches };
          this.second.state.all = this.first.state.all;
          this.second.links = this.links;
          this.listen(this.second);
          this.sides.append(this.second.root);
          this.pair = new X.Pair(this, this.first, this.second);
        }
        const isDrawn = await this.act(this.second, { ...wanted, place: this.first.place() || -1 }, "keep");
        if (!isDrawn && !this.second?.model) return this.setPair(null);
        this.acting = this.first;
      }
      this.all.classList.toggle("paired", Boolean(this.second));
      this.compare.setAttribute("aria-pressed", String(Boolean(this.second)));
      this.grips.update();
      this.update(false);
    }

    link() {
      return writeLink(this.state, this.first.place());
    }
  }

  Object.assign(globalThis.xlaExplorer, { Explorer });
}
