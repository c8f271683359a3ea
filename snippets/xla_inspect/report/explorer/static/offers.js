// What an explorer can show: offers, each a program compiled for a target, and the models of those that were loaded.
"use strict";
{
  const { Model } = globalThis.xlaExplorer;

  class Offers {
    // An offer is `{ program, programTitle, target, title, load(tell), loadDetails, note }`; without `program` all are
    // of one.
    constructor(offers) {
      Object.assign(this, { models: new WeakMap(), coming: new WeakMap(), known: new WeakMap() });
      this.replace(offers);
    }

    // What is offered again keeps what was loaded of it.
    replace(offers) {
      this.list = offers.map((offer) => {
        if (!this.known.has(offer)) this.known.set(offer, { program: "", programTitle: offer.program ?? "", note: "", ...offer });
        return this.known.get(offer);
      });
    }

    // The offer that is most like what is wanted: the program on the target, on one of the same kind with another number
    // of devices, on any; else the target.
    find({ program, target } = {}) {
      const same = this.list.filter((it) => it.program === program);
      const isMeant = (it) => it.target === target;
      const isAlike = (it) => it.target.split(":")[0] === target?.split(":")[0];
      return same.find(isMeant) ?? same.find(isAlike) ?? same[0] ?? this.list.find(isMeant) ?? this.list[0];
    }

    // Lists of `[value, title]`, as menus take them.
    programs() {
      return [...new Map(this.list.map((it) => [it.program, it.programTitle || it.program || "program"]))];
    }

    targets(program) {
      return this.list.filter((it) => it.program === program).map(({ target, title }) => [target, title]);
    }

    // What stands beside an offer at first: the next target of its program, else the same target of the next program.
    next(offer) {
      const targets = this.list.filter((it) => it.program === offer.program);
      if (targets.length > 1) return targets[(targets.indexOf(offer) + 1) % targets.length];
      const programs = this.programs().map(([program]) => program);
      const program = programs[(programs.indexOf(offer.program) + 1) % programs.length];
      return this.find({ program, target: offer.target });
    }

    // The model of an offer, fetched once; who asks while it comes waits for the same. What failed is asked for anew.
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

    // More complete data of an offer came.
    refresh(offer, data) {
      this.models.set(offer, new Model(data, offer.loadDetails));
    }
  }

  // Whether a model has what a view shows. Data may come stage by stage.
  const NEEDS = { before: "states", passes: "states", after: "states" };
  const has = (model, view) => {
    const part = NEEDS[view] ?? view;
    if (view === "before" && model.data.states?.[0]?.label) return false; // the module as imported is not there
    if (model.has) return model.has(part);
    const held = model.data[part];
    return Array.isArray(held) ? held.length > 0 : held !== undefined;
  };

  // The views of a model, in order, and the one that takes the place of one that it does not have.
  const isOffered = (model, view) => {
    const it = globalThis.xlaExplorer.views[view];
    return Boolean(it) && has(model, view) && it.isOffered?.(model) !== false;
  };
  const fitting = (model, view) =>
    [view, "passes", "after", ...Object.keys(globalThis.xlaExplorer.views)].find((each) => isOffered(model, each)) ?? "jaxpr";

  Object.assign(globalThis.xlaExplorer, { Offers, isOffered, fitting });
}
