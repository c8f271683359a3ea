// The counterparts of an edit: the edit before it, or the original program. Their results and their text are compared.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const TITLES = { before: "the edit before", original: "the original" };
  const EDIT = "edit"; // the program that the explorer shows

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

    // A run is `{ request, offers, isDone }`, with `offers` by target. A run can be a counterpart once it is complete.
    // Until a target has a result in the new run, the result of an earlier run is shown.
    begin(run) {
      const { runs } = this;
      if (runs.now?.isDone && runs.now.offers.size) {
        runs.original ??= runs.now;
        runs.before = runs.now;
      }
      run.older = new Map([...(runs.now?.older ?? []), ...(runs.now?.offers ?? [])]);
      runs.now = run;
      this.update();
    }

    // Discard the counterparts, because another program replaced the edits.
    forget() {
      this.runs = { original: null, before: null, now: null };
      this.beside.value = this.against.value = "";
      this.update();
    }

    update() {
      for (const select of [this.beside, this.against])
        for (const option of select.options) option.disabled = Boolean(option.value) && !this.runs[option.value];
    }

    // The text to compare the source with, or null.
    get text() {
      return this.runs[this.against.value]?.request.code ?? null;
    }

    // Return the offers for the explorer: the newest result of each target, then those of the chosen counterpart.
    offers() {
      const { now } = this.runs;
      const newest = (now?.request.targets ?? []).map((target) => now.offers.get(target) ?? now.older.get(target)).filter((it) => it);
      const other = this.beside.value;
      const others = [...(this.runs[other]?.offers.values() ?? [])];
      return [...newest.map((it) => this.make(it, EDIT, "this edit")), ...others.map((it) => this.make(it, other, TITLES[other]))];
    }

    // Return the same object for the same offer and program, so that the explorer keeps the model that it loaded.
    make(offer, program, programTitle) {
      if (!this.made.has(offer)) this.made.set(offer, {});
      const known = this.made.get(offer);
      return (known[program] ??= { ...offer, program, programTitle });
    }
  }

  Object.assign(globalThis.xlaExplorer, { Counterparts, EDIT });
}
