// Listings: the texts of the stages, and modules, whose computations fold.
"use strict";
{
  const { element, line } = globalThis.xlaExplorer;
  const AROUND = 2; // unchanged rows shown beside a change
  const [AT_ONCE, PIECE, SLICE] = [80, 20, 12]; // rows drawn at once and in a piece, milliseconds of a task

  const text = (lines, state) => [
    element("ol", { class: "code" }, ...lines.map(([shown, place]) => element("li", {}, line(shown, place, state)))),
  ];

  const row = (model, it, state) => {
    const label = it.kind === "same" ? undefined : it.kind;
    const now = line(model.print(it, state.switches), it.place, state, {
      always: true,
      instruction: it.instruction,
      kind: it.kind,
      label,
    });
    if (it.kind !== "changed" || !it.was) return element("li", { class: it.kind ?? "same" }, now);
    const was = model.print(it.was, state.switches);
    const before = element("span", { class: "line was" }, element("span", { class: "hidden" }, "before: "), was);
    return element("li", { class: it.kind }, before, now);
  };

  // Long listings are drawn in pieces, so that the first of them is seen at once: some rows in the task that asks for
  // them, the rest in tasks that leave room for others.
  const queue = [];
  let spent = 0;
  const soon = (job) => {
    queue.push(job);
    if (queue.length === 1) setTimeout(drain);
  };
  const drain = () => {
    const start = performance.now();
    while (queue.length && performance.now() - start < SLICE) if (!queue[0]()) queue.shift();
    if (queue.length) setTimeout(drain);
  };
  const drawInPieces = (list, items) => {
    const draw = (number) => list.append(...items.splice(0, number).map((make) => make()));
    if (!spent) setTimeout(() => (spent = 0));
    const now = Math.min(items.length, Math.max(AT_ONCE - spent, 0));
    spent += now;
    draw(now);
    if (!items.length) return;
    // Whether there is more to do: not in a list that has left the page.
    soon(() => {
      if (list.isConnected) draw(PIECE);
      return list.isConnected && items.length > 0;
    });
  };

  // Rows in order; where only changes are wanted, runs of unchanged rows fold into a button that shows them.
  const rows = (model, it, state, onlyChanges) => {
    const list = element("ol", { class: "code" });
    const near = new Set();
    it.rows.forEach((each, at) => {
      if (each.kind !== "same") for (let n = at - AROUND; n <= at + AROUND; n++) near.add(n);
    });
    const fold = (folded) => () => {
      const more = element("button", { type: "button", class: "more", tabindex: -1 }, `${folded.length} unchanged`);
      const item = element("li", {}, more);
      more.addEventListener("click", () => {
        const shown = folded.map((each) => row(model, each, state));
        item.replaceWith(...shown);
        shown[0].querySelector("button")?.focus();
      });
      return item;
    };
    const items = [];
    let hidden = [];
    const flush = () => {
      if (hidden.length) items.push(fold(hidden));
      hidden = [];
    };
    it.rows.forEach((each, at) => {
      if (onlyChanges && !near.has(at)) return void hidden.push(each);
      flush();
      items.push(() => row(model, each, state));
    });
    flush();
    drawInPieces(list, items);
    return list;
  };

  // A computation, folded unless it is worth a look: its rows are made when it opens.
  const computation = (model, it, state, onlyChanges) => {
    const name = `${it.isEntry ? "ENTRY " : ""}%${it.name}`;
    const fold = element(
      "details",
      { class: `computation ${it.kind ?? ""}` },
      element("summary", {}, name, element("small", {}, ` ${it.rows.length}`)),
    );
    const fill = () => {
      if (fold.children.length === 1) fold.append(rows(model, it, state, onlyChanges));
    };
    fold.addEventListener("toggle", () => fold.open && fill());
    // What a chosen line lights must be seen: `explorer.js` asks this of each fold.
    fold.reveal = (place, chosen) => {
      const isMeant = (each) => (place >= 0 && each.place === place) || (chosen !== null && each.instruction === chosen);
      if (fold.open || !it.rows.some(isMeant)) return;
      fill();
      fold.open = true;
    };
    if (it.isEntry || (onlyChanges && it.rows.some((each) => each.kind !== "same"))) {
      fill();
      fold.open = true;
    } else fold.reveal(state.place, state.chosen);
    return fold;
  };

  const module = (model, number, state) =>
    model.module(number).map((it) => {
      const plain = { ...it, rows: it.rows.map((each) => ({ ...each, kind: "same" })) };
      return computation(model, plain, state, false);
    });

  const places = (lines, place) => lines.filter(([, at]) => at === place).length;
  const inModule = (model, number, place) =>
    model.module(number).reduce((sum, c) => sum + c.rows.filter((each) => each.place === place).length, 0);

  // What there is to see: name -> { title, draw(model, state, show), count?(model, place), update?(pane, model, state),
  // isOffered?(model) }.
  // `draw` returns nodes; elements with data-place, or numbers in data-places, light up with that place of Python.
  // `count` says how many things of a view belong to a place. `update` redraws for another pass. `printsRows` where
  // the switches for layouts, configuration and metadata matter.
  Object.assign(globalThis.xlaExplorer.views, {
    jaxpr: {
      title: "jaxpr",
      draw: (model, state) => text(model.data.jaxpr, state),
      count: (model, place) => places(model.data.jaxpr, place),
    },
    stablehlo: {
      title: "StableHLO",
      draw: (model, state) => text(model.data.stablehlo, state),
      count: (model, place) => places(model.data.stablehlo, place),
    },
    before: {
      title: "HLO",
      printsRows: true,
      draw: (model, state) => module(model, 0, state),
      count: (model, place) => inModule(model, 0, place),
    },
    passes: null, // passes.js; the tabs stand in this order
    after: {
      title: "Optimized HLO",
      printsRows: true,
      draw: (model, state) => module(model, model.last, state),
      count: (model, place) => inModule(model, model.last, place),
    },
    code: null, // code.js
  });
  Object.assign(globalThis.xlaExplorer, { row, computation, inModule, pending: () => queue.length });
}
