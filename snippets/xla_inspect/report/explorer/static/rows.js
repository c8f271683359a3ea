// Listings: the texts of the stages, and modules whose computations are folds.
"use strict";
{
  const X = globalThis.xlaExplorer;
  const { element, line, tokenize, tokenizeLines, paint, VirtualRows } = X;
  const AROUND = 2; // unchanged rows shown before and after a change
  const [AT_ONCE, PIECE, SLICE] = [80, 20, 12]; // rows drawn at once, rows drawn per job, and milliseconds per task
  const MANY = 400; // with more rows or computations than this, only the visible ones are drawn
  const [LINE, EDGES, SUMMARY] = [18, 6, 30]; // pixels

  const guessRow = (length, columns) => LINE * Math.max(Math.ceil((length + 2) / columns), 1) + EDGES;

  // `words` splits a line into words. `findDifferent` returns the positions of the words that only one version has.
  const words = (text) => tokenize(text, "hlo").flatMap(([name, piece]) => (name ? [[name, piece]] : piece.split(/(?<=[\s,(){}])|(?=[\s,(){}])/).map((it) => ["", it])));
  const findDifferent = (before, after) => {
    const [a, b] = [before, after].map((pieces) => pieces.map(([, it]) => it));
    let [first, last] = [0, 0];
    while (first < Math.min(a.length, b.length) && a[first] === b[first]) first++;
    while (last < Math.min(a.length, b.length) - first && a.at(-1 - last) === b.at(-1 - last)) last++;
    const [x, y] = [a.slice(first, a.length - last), b.slice(first, b.length - last)];
    const only = (mine, other) => new Set(mine.map((it, at) => [it, at + first]).filter(([it]) => it.trim() && !other.includes(it)).map(([, at]) => at));
    return [only(x, y), only(y, x)];
  };

  // Color a line of HLO. Names of instructions carry the data for links to definitions, and opcodes and attributes
  // carry the data for their explanations.
  const hlo = (pieces, different = null) =>
    paint(pieces, (name, piece, at) => {
      const attributes = name ? { class: name } : null;
      if (name === "nv") attributes["data-name"] = piece.slice(1);
      else if (name === "nf" || name === "na") attributes["data-word"] = `${name === "nf" ? "opcode" : "attribute"}:${piece}`;
      if (!different?.has(at)) return attributes;
      return { ...attributes, class: [name, "word"].filter(Boolean).join(" ") };
    });

  const row = (model, it, state) => {
    const kind = it.kind ?? "same";
    const printed = model.print(it, state.switches);
    const was = kind === "changed" && it.was ? model.print(it.was, state.switches) : null;
    const [old, now] = was === null ? [null, tokenize(printed, "hlo")] : [words(was), words(printed)];
    const [gone, come] = was === null ? [] : findDifferent(old, now);
    const shown = line(hlo(now, come), it.place, state, {
      always: true,
      instruction: it.instruction,
      kind: [kind, it.instruction === state.chosen ? "chosen" : ""].filter(Boolean).join(" "),
      label: kind === "same" ? undefined : kind,
    });
    if (was === null) return element("li", { class: kind }, shown);
    return element("li", { class: kind }, element("span", { class: "line was" }, element("span", { class: "hidden" }, "before: "), ...hlo(old, gone)), shown);
  };

  // Long listings are drawn in pieces, so that the first rows appear immediately: some rows in the task that requests
  // them, the rest in later tasks that leave time for others.
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
    // Return whether rows remain. A list that was removed from the page is not completed.
    soon(() => {
      if (list.isConnected) draw(PIECE);
      return list.isConnected && items.length > 0;
    });
  };

  // Create a list of rows. With `onlyChanges`, runs of unchanged rows fold into a button that shows them. If the list
  // draws only visible rows, its `ensure` adds a requested row to the DOM and opens the fold that contains it.
  const rows = (model, it, state, onlyChanges) => {
    const list = element("ol", { class: "code" });
    const near = new Set();
    if (onlyChanges)
      it.rows.forEach((each, at) => {
        if (each.kind !== "same") for (let n = at - AROUND; n <= at + AROUND; n++) near.add(n);
      });
    const items = [];
    it.rows.forEach((each, at) => {
      if (!onlyChanges || near.has(at)) items.push(each);
      else if (items.at(-1)?.folded) items.at(-1).folded.push(each);
      else items.push({ folded: [each] });
    });
    const open = (fold) => {
      if (virtual) return virtual.replace(fold, fold.folded);
      const shown = fold.folded.map((each) => row(model, each, state));
      fold.item.replaceWith(...shown);
      return shown[0];
    };
    const make = (each) => {
      if (!each.folded) return row(model, each, state);
      const more = element("button", { type: "button", class: "more", tabindex: -1 }, `${each.folded.length} unchanged`);
      more.addEventListener("click", () => open(each)?.querySelector("button")?.focus());
      return (each.item = element("li", {}, more));
    };
    const total = items.reduce((sum, each) => sum + (each.folded?.length ?? 1), 0);
    const length = (each) => model.data.texts[each.text].length;
    const virtual =
      total > MANY &&
      new VirtualRows(list, items, make, {
        guess: (each, columns) => (each.folded ? SUMMARY : guessRow(length(each), columns) + (each.was ? guessRow(length(each.was), columns) : 0)),
      });
    if (!virtual) drawInPieces(list, items.map((each) => () => make(each)));
    list.ensure = (isMeant) => {
      if (!virtual) return null;
      const found = virtual.ensure(isMeant);
      if (found) return found;
      const fold = virtual.findItem((each) => each.folded?.some(isMeant));
      if (!fold) return null;
      virtual.replace(fold, fold.folded);
      return virtual.ensure(isMeant);
    };
    return list;
  };

  // Create a fold of a computation. It is open if it is the entry, has changes to show or contains the chosen row. Its
  // rows are created when it opens.
  const computation = (model, it, state, onlyChanges) => {
    const name = `${it.isEntry ? "ENTRY " : ""}%${it.name}`;
    const fold = element(
      "details",
      { class: `computation ${it.kind ?? ""}`, "data-computation": it.name },
      element("summary", {}, name, element("small", {}, ` ${it.rows.length}`)),
    );
    const fill = () => {
      if (fold.children.length === 1) fold.append(rows(model, it, state, onlyChanges));
    };
    fold.addEventListener("toggle", () => fold.open && fill());
    fold.ensure = (isMeant) => {
      fill();
      fold.open = true;
      return fold.lastChild.ensure(isMeant);
    };
    // Open the fold if it contains the chosen instruction or line. `pane.js` calls this for each fold.
    fold.reveal = (place, chosen) => {
      const isMeant = (each) => (chosen !== null ? each.instruction === chosen : place >= 0 && each.place === place);
      const isLit = (each) => place >= 0 && each.place === place;
      const found = it.rows.some(isMeant);
      if (!found && !it.rows.some(isLit)) return;
      fill();
      fold.open = true;
      const selector = chosen !== null ? `[data-instruction="${chosen}"]` : `[data-place="${place}"]`;
      if (found && it.rows.length > MANY && !fold.querySelector(selector)) fold.ensure(isMeant);
    };
    if (it.isEntry || (onlyChanges && it.rows.some((each) => each.kind !== "same"))) {
      fill();
      fold.open = true;
    } else fold.reveal(state.place, state.chosen);
    return fold;
  };

  // Make the rows of a view reachable even if they are not in the DOM: `lines` returns the searchable rows as
  // `[text, item]`, `go` adds an item to the DOM, and `reach` adds an instruction.
  const reaching = (root, { lines, go, reach = () => null, reveal }) => {
    root.classList.add("reaches");
    return Object.assign(root, { lines, go, reach, reveal });
  };

  // List computations one below the other.
  const computations = (model, shown, state, onlyChanges) => {
    const root = element("div", { class: "module" });
    const make = (it) => (it.made ??= computation(model, it.computation, state, onlyChanges));
    const items = shown.map((each) => ({ computation: each }));
    const isOpen = ({ isEntry, rows: inside }) => isEntry || (onlyChanges && inside.some((each) => each.kind !== "same"));
    const guess = ({ computation: each }) => SUMMARY + (isOpen(each) ? each.rows.length * (LINE + EDGES) : 0);
    const relight = (nodes) => {
      for (const each of nodes) {
        each.reveal?.(state.place, state.chosen);
        X.light?.(each, state.place);
      }
    };
    // Many small open computations have as many rows as a long one, which itself draws only its visible rows.
    const small = shown.filter((each) => isOpen(each) && each.rows.length <= MANY).reduce((sum, each) => sum + each.rows.length, 0);
    const isLong = items.length > MANY || small > 2 * MANY;
    const virtual = isLong && new VirtualRows(root, items, make, { guess, spacer: "div", piece: 10, onDraw: relight });
    if (!virtual) root.append(...items.map(make));
    const find = (isMeant) => items.find((it) => it.computation.rows.some(isMeant));
    const go = (isMeant) => {
      const item = find(isMeant);
      if (!item) return null;
      if (virtual) virtual.ensure((it) => it === item);
      const found = make(item).ensure(isMeant);
      return found ?? null;
    };
    const byInstruction = (number) => root.querySelector(`[data-instruction="${number}"]`);
    return reaching(root, {
      lines: () => shown.flatMap((c) => c.rows.map((each) => [model.print(each, state.switches), each])),
      go: (each) => {
        const node = go((it) => it === each);
        return node?.querySelector(".line:not(.was)") ?? byInstruction(each.instruction);
      },
      reach: (number) => byInstruction(number) ?? go((each) => each.instruction === number)?.querySelector("[data-instruction]") ?? byInstruction(number),
      reveal: (place, chosen) => {
        if (!virtual || (place < 0 && chosen === null)) return;
        const isMeant = (each) => (chosen !== null ? each.instruction === chosen : each.place === place);
        const selector = chosen !== null ? `[data-instruction="${chosen}"]` : `[data-place="${place}"]`;
        if (!root.querySelector(selector)) go(isMeant);
      },
    });
  };

  const module = (model, number, state) => [computations(model, model.module(number), state, false)];

  // List the lines of a text, each with its line of Python.
  const text = (lines, state, language) => {
    const list = element("ol", { class: "code" });
    const tokens = lines.length > MANY ? null : tokenizeLines(lines.map(([shown]) => shown), language);
    const items = lines.map(([shown, place], at) => ({ shown, place, at }));
    const make = ({ shown, place, at }) => element("li", {}, line(paint(tokens ? tokens[at] : tokenize(shown, language)), place, state));
    const guess = ({ shown }, columns) => guessRow(shown.length, columns);
    const virtual = items.length > MANY && new VirtualRows(list, items, make, { guess });
    if (!virtual) list.append(...items.map(make));
    const go = (it) => (virtual ? virtual.ensure((each) => each === it) : list.children[it.at])?.firstElementChild;
    const found = reaching(list, {
      lines: () => items.map((it) => [it.shown, it]),
      go,
      reveal: (place) => {
        if (!virtual || place < 0 || list.querySelector(`[data-place="${place}"]`)) return;
        virtual.ensure((it) => it.place === place);
      },
    });
    return [found];
  };

  const places = (lines, place) => lines.filter(([, at]) => at === place).length;
  const inModule = (model, number, place) =>
    model.module(number).reduce((sum, c) => sum + c.rows.filter((each) => each.place === place).length, 0);

  // The views: name -> { title, draw(model, state, show), count?(model, place), update?(pane, model, state),
  // isOffered?(model) }. `draw` returns nodes. Elements with data-place, or numbers in data-places, are highlighted
  // with that line of Python. `count` returns how many items of a view belong to a place. `update` redraws for another
  // pass. `printsRows` says that the switches for layouts, configuration and metadata matter.
  Object.assign(X.views, {
    jaxpr: {
      title: "jaxpr",
      draw: (model, state) => text(model.data.jaxpr, state, "jaxpr"),
      count: (model, place) => places(model.data.jaxpr, place),
    },
    stablehlo: {
      title: "StableHLO",
      draw: (model, state) => text(model.data.stablehlo, state, "stablehlo"),
      count: (model, place) => places(model.data.stablehlo, place),
    },
    before: {
      title: "HLO",
      printsRows: true,
      draw: (model, state) => module(model, 0, state),
      count: (model, place) => inModule(model, 0, place),
    },
    passes: null, // defined in passes.js; this entry sets the order of the tabs
    after: {
      title: "Optimized HLO",
      printsRows: true,
      draw: (model, state) => module(model, model.last, state),
      count: (model, place) => inModule(model, model.last, place),
    },
    // A page may load the scripts that draw these views later.
    code: { title: "Code", printsRows: true, isOffered: (model) => Boolean(model.data.code) },
    graph: { title: "Graph", printsRows: true },
    buffers: { title: "Buffers" },
    kernels: { title: "Kernels" },
  });
  Object.assign(X, { row, computation, computations, inModule, pending: () => queue.length });
}
