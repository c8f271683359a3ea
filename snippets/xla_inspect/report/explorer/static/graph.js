// The optimized entry computation as a layered graph: what does work as boxes that open, the values between as edges.
"use strict";
{
  const { element, drawn, row, size, count, arrange, place, views } = globalThis.xlaExplorer;
  const [BOX, POINT, GAP] = [190, 8, 12]; // CSS pixels: the least a box takes across, a passing edge, between boxes
  const ARROW = "m-3-4l3 4l3-4";

  // A box: what it is, what it reads and makes; opened, the instruction and what it holds.
  const box = (model, it, state) => {
    const held = model.held(it);
    const places = [...new Set(held.flatMap((c) => c.rows.map((each) => each.place)))].filter((at) => at >= 0);
    const moved = [
      it.read || it.written ? `main memory: reads ${size(it.read)}, writes ${size(it.written)}` : "",
      it.onChip ? `on the chip: ${size(it.onChip)}` : "",
    ].filter(Boolean);
    const fold = element(
      "details",
      {
        class: `box ${it.kind} ${it.isResult ? "result" : ""} ${places.includes(state.place) ? "lit" : ""}`,
        "data-places": places.join(" "),
      },
      element(
        "summary",
        { class: "stop", tabindex: -1 },
        element("b", {}, it.name),
        element("span", {}, it.head + (it.opcodes.length ? `: ${it.opcodes.join(", ")}` : "")),
        it.reads.length ? element("small", {}, `reads ${it.reads.join(", ")}`) : "",
      ),
    );
    const made = it.makes.length ? element("p", { class: "makes" }, it.makes.join(", ")) : "";
    fold.addEventListener("toggle", () => {
      if (!fold.open || fold.children.length > 1) return;
      fold.append(
        ...moved.map((said) => element("p", { class: "moved" }, said)),
        ...held.map((c) =>
          element("ol", { class: "code" }, ...c.rows.map((each) => row(model, { ...each, kind: "same" }, state))),
        ),
      );
    });
    return element("div", { class: "node" }, fold, made);
  };

  const bars = (traffic) => {
    const most = Math.max(traffic.before, traffic.after, 1);
    const bar = (name, bytes) => [
      element("dt", {}, name),
      element("dd", {}, element("i", { style: `width: ${((70 * bytes) / most).toFixed(1)}%` }), ` ${size(bytes)}`),
    ];
    return element(
      "div",
      { class: "traffic" },
      element("p", {}, "Bytes that the entry computation's launches read from main memory and write to it, each launch's operands counted once:"),
      element("dl", {}, ...bar("as imported, if each instruction were a launch", traffic.before), ...bar("optimized", traffic.after)),
    );
  };

  const draw = (model, state) => {
    const graph = model.data.graph;
    const nodes = graph.nodes.map((it) => box(model, it, state));
    const lines = drawn("svg", { class: "edges", "aria-hidden": "true" });
    const canvas = element("div", { class: "canvas" }, lines);
    let [limit, plan] = [0, null];

    // Rows depend on how many boxes may stand side by side; places on the width of all, and edges on the boxes' heights.
    const arrangeRows = (wanted) => {
      limit = wanted;
      plan = arrange(nodes.length, graph.edges, limit);
      canvas.replaceChildren(
        lines,
        ...plan.rows.map((each) => element("div", { class: "across" }, ...each.filter((n) => n < nodes.length).map((n) => nodes[n]))),
      );
    };
    const lay = () => {
      const width = canvas.clientWidth;
      if (!width) return;
      const isFirst = !plan;
      const wanted = Math.max(1, Math.min(5, Math.floor((width + GAP) / (BOX + GAP))));
      if (wanted !== limit) arrangeRows(wanted);
      const total = Math.max(nodes.length, ...plan.rows.flat().map((n) => n + 1));
      const widths = new Array(total).fill(POINT);
      for (const each of plan.rows) {
        const boxes = each.filter((n) => n < nodes.length);
        const room = (width - POINT * (each.length - boxes.length)) / boxes.length - GAP;
        for (const n of boxes) widths[n] = Math.min(room, BOX * 1.6) + GAP;
      }
      const middle = place(plan, widths, width);
      plan.rows.forEach((each, at) => {
        const boxes = each.filter((n) => n < nodes.length);
        canvas.children[at + 1].hidden = !boxes.length;
        for (const n of boxes) {
          nodes[n].style.left = `${(middle[n] - widths[n] / 2 + GAP / 2).toFixed(1)}px`;
          nodes[n].style.width = `${(widths[n] - GAP).toFixed(1)}px`;
        }
      });
      const across = [...canvas.children].slice(1);
      across.forEach((each) => (each.style.height = `${Math.max(0, ...[...each.children].map((n) => n.offsetHeight))}px`));
      connect(plan, middle, across);
      if (isFirst) canvas.dispatchEvent(new Event("placed", { bubbles: true }));
    };
    const connect = ({ rows, steps }, middle, across) => {
      const rowOf = new Map(rows.flatMap((each, at) => each.map((n) => [n, at])));
      const top = across.map((each) => each.offsetTop);
      const bottom = across.map((each) => each.offsetTop + each.offsetHeight);
      const path = [];
      const x = (n) => middle[n].toFixed(1);
      for (const [n, at] of rowOf) {
        if (n >= nodes.length) path.push(`M${x(n)} ${top[at]}V${bottom[at]}`);
        else if (steps.some(([from]) => from === n)) path.push(`M${x(n)} ${top[at] + nodes[n].offsetHeight}V${bottom[at]}`);
      }
      for (const [from, to] of steps) {
        const [y, end] = [bottom[rowOf.get(from)], top[rowOf.get(to)]];
        const half = (y + end) / 2;
        path.push(`M${x(from)} ${y}C${x(from)} ${half} ${x(to)} ${half} ${x(to)} ${end}${to < nodes.length ? ARROW : ""}`);
      }
      lines.setAttribute("viewBox", `0 0 ${canvas.clientWidth} ${canvas.offsetHeight}`);
      lines.replaceChildren(drawn("path", { d: path.join("") }));
    };
    const watcher = new ResizeObserver(lay);
    watcher.observe(canvas);
    // A box that opens pushes down the rows below it, before the next frame is painted.
    canvas.addEventListener("toggle", () => lay(), true);

    const kinds = new Map();
    for (const { kind } of graph.nodes) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const key = element("p", { class: "keys" }, ...[...kinds].map(([kind, all]) => element("span", { class: `key ${kind}` }, `${all} ${graph.kinds[kind] ?? kind}`)));
    const folded = graph.folded ? ` ${count(graph.folded, "instruction")} that only feed, pack or rename are folded in.` : "";
    const said = element("p", {}, `${count(nodes.length, "box", "boxes")}, from top to bottom; below each stands what leaves it. Open a box to see what it holds.${folded}`);
    return [element("div", { class: "graph" }, bars(graph.traffic), key, said, canvas)];
  };

  views.graph = {
    title: "Graph",
    printsRows: true,
    draw,
    count: (model, at) =>
      model.data.graph.nodes.filter((it) => model.held(it).some((c) => c.rows.some((each) => each.place === at))).length,
  };
}
