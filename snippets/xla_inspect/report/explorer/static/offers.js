// The offers of an explorer, each a program compiled for a target, and the models of the offers that were loaded.
"use strict";
{
  const { Model } = globalThis.xlaExplorer;

  const USUAL = ["tpu-v5e", "h100"];
  const kindOf = (target) => target.match(/^(cpu|tpu)/)?.[0] ?? "gpu";

  class Offers {
    // An offer is `{ program, programTitle, target, title, load(tell), loadDetails, note }`. Offers without `program`
    // belong to the same program.
    constructor(offers) {
      Object.assign(this, { models: new WeakMap(), coming: new WeakMap(), known: new WeakMap() });
      this.replace(offers);
    }

    // Replace the offers. An offer that was known before keeps its loaded model.
    replace(offers) {
      this.list = offers.map((offer) => {
        if (!this.known.has(offer)) this.known.set(offer, { program: "", programTitle: offer.program ?? "", note: "", ...offer });
        return this.known.get(offer);
      });
    }

    // Return the closest offer: the program on the target, else on the same kind of target with another number of
    // devices, else on any target. For an unknown program, return an offer for the target, else the first offer.
    find({ program, target } = {}) {
      const same = this.list.filter((it) => it.program === program);
      const isMeant = (it) => it.target === target;
      const isAlike = (it) => it.target.split(":")[0] === target?.split(":")[0];
      return same.find(isMeant) ?? same.find(isAlike) ?? same[0] ?? this.list.find(isMeant) ?? this.list[0];
    }

    // `programs` and `targets` return `[value, title]` entries for a menu.
    programs() {
      return [...new Map(this.list.map((it) => [it.program, it.programTitle || it.program || "program"]))];
    }

    targets(program) {
      return this.list.filter((it) => it.program === program).map(({ target, title }) => [target, title]);
    }

    // Return the first offer for the second pane. If possible, the offer has a usual target of another kind of processor,
    // otherwise the program's next target, and for a program with one target, this target of the next program.
    next(offer) {
      const targets = this.list.filter((it) => it.program === offer.program);
      const others = targets.filter((it) => kindOf(it.target) !== kindOf(offer.target));
      const usual = USUAL.map((name) => others.find((it) => it.target.startsWith(name))).find(Boolean);
      if (targets.length > 1) return usual ?? others[0] ?? targets[(targets.indexOf(offer) + 1) % targets.length];
      const programs = this.programs().map(([program]) => program);
      const program = programs[(programs.indexOf(offer.program) + 1) % programs.length];
      return this.find({ program, target: offer.target });
    }

    // Return the model of an offer, loaded once. Concurrent calls share one load. A failed load can be retried.
    async load(offer, tell) {
      if (!this.models.has(offer)) {
        if (!this.coming.has(offer)) this.coming.set(offer, offer.load(tell));
        try {
          const data = await this.coming.get(offer);
          if (!this.models.has(offer)) this.refresh(offer, data);
        } finally {
          this.coming.delete(offer);
        }
      }
      return this.models.get(offer);
    }

    peek(offer) {
      return this.models.get(offer) ?? null;
    }

    // Replace the model of an offer with one of more complete data.
    refresh(offer, data) {
      this.models.set(offer, new Model(data, offer.loadDetails));
    }
  }

  // Return whether a model has the data of a view. The data may arrive stage by stage.
  const NEEDS = { before: "states", passes: "states", after: "states" };
  const has = (model, view) => {
    const part = NEEDS[view] ?? view;
    if (view === "before" && model.data.states?.[0]?.label) return false; // the imported module is missing
    if (model.has) return model.has(part);
    const held = model.data[part];
    return Array.isArray(held) ? held.length > 0 : held !== undefined;
  };

  // `isOffered` returns whether a model has a view. `fitting` returns the view, or a replacement if the model lacks it.
  const isOffered = (model, view) => {
    const it = globalThis.xlaExplorer.views[view];
    return Boolean(it) && has(model, view) && it.isOffered?.(model) !== false;
  };
  const fitting = (model, view) =>
    [view, "passes", "after", ...Object.keys(globalThis.xlaExplorer.views)].find((each) => isOffered(model, each)) ?? "jaxpr";

  Object.assign(globalThis.xlaExplorer, { Offers, isOffered, fitting });
}
