// What an edit is held against: the edit before it, or the program as it was at first; their results and their text.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const TITLES = { before: "the edit before", original: "the original" };
  const EDIT = "edit"; // the program that the explorer shows
  const [NEW, OLD] = ["", "of older code"];

  class Counterparts {
    constructor(change) {
      Object.assign(this, { runs: { original: null, before: null, now: null }, made: new WeakMap() });
      const choice = (label, name) => {
        const options = [["", "nothing"], ...Object.entries(TITLES)].map(([value, text]) => element("option", { value }, text));
        return (this[name] = element("select", { "aria-label": label, on: { change } }, ...options));
      };
      const beside = element("label", {}, "Result beside ", choice("Result beside", "beside"));
      const against = element("label", {}, "Source against ", choice("Source against", "against"));
      this.root = element("div", { class: "counterparts" }, beside, against);
      this.update();
    }

    // A run is `{ code, request, offers }`, `offers` by target; it becomes one to compare with once something came of it.
    begin(run) {
      const { runs } = this;
      if (runs.now?.offers.size) {
        runs.original ??= runs.now;
        runs.before = runs.now;
      }
      runs.now = run;
      this.update();
    }

    // Another program took the place of the edits: it has no earlier ones.
    forget() {
      this.runs = { original: null, before: null, now: null };
      this.beside.value = this.against.value = "";
      this.update();
    }

    update() {
      for (const select of [this.beside, this.against])
        for (const option of select.options) option.disabled = Boolean(option.value) && !this.runs[option.value];
    }

    // The text that the source is held against, or null.
    get text() {
      return this.runs[this.against.value]?.code ?? null;
    }

    // What the explorer is offered: the newest result of each target, then those of the counterpart that is chosen.
    offers() {
      const { now, before } = this.runs;
      const newest = [];
      for (const target of now?.request.targets ?? []) {
        const [run, note] = now.offers.has(target) ? [now, NEW] : [before, OLD];
        const offer = run?.offers.get(target);
        if (offer) newest.push(this.make(offer, EDIT, "this edit", note));
      }
      const other = this.beside.value;
      const others = [...(this.runs[other]?.offers.values() ?? [])].map((it) => this.make(it, other, TITLES[other], NEW));
      return [...newest, ...others];
    }

    // The same offer under the same name is the same thing, so that what was loaded of it stays.
    make(offer, program, programTitle, note) {
      if (!this.made.has(offer)) this.made.set(offer, {});
      const known = this.made.get(offer);
      return Object.assign((known[program] ??= { target: offer.target, title: offer.title, load: offer.load, loadDetails: offer.loadDetails }), { program, programTitle, note });
    }
  }

  Object.assign(globalThis.xlaExplorer, { Counterparts, EDIT });
}
