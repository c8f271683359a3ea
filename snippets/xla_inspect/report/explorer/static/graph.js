// The optimized entry computation as a layered graph: what does work as boxes that open, the values between as edges.
"use strict";
{
  const { element, drawn, row, size, count, views } = globalThis.xlaExplorer;
  const [BOX, GAP] = [190, 12]; // CSS pixels: the least a box takes across, and between boxes, as in graphs.py
  const WHOLE = 1000; // a canvas's width, in the parts that a plan counts in
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
      element("p", {}, "Bytes that the launches read from main memory and write to it, each launch and its operands counted once:"),
      element("dl", {}, ...bar("as imported, if each instruction were a launch", traffic.before), ...bar("optimized", traffic.after)),
    );
  };

  const draw = (model, state) => {
    const graph = model.data.graph;
    const nodes = graph.nodes.map((it) => box(model, it, state));
    const lines = drawn("svg", { class: "edges", "aria-hidden": "true" });
    const canvas = element("div", { class: "canvas" }, lines);
    const leads = nodes.map(() => []);
    for (const [from, to] of graph.edges) leads[from].push(to);
    let plan = null;

    // How many boxes stand side by side depends on the room there is, and then all stands where the plan says.
    const arrange = (wanted) => {
      plan = wanted;
      const rows = plan.room.map(() => element("div", { class: "across" }));
      const order = nodes.map((_, n) => n).sort((a, b) => plan.middle[a] - plan.middle[b]);
      for (const n of order) {
        const [middle, room] = [plan.middle[n], plan.room[plan.row[n]]].map((part) => `${(100 * part) / WHOLE}%`);
        const width = `min(${room} - ${GAP}px, ${1.6 * BOX}px)`;
        Object.assign(nodes[n].style, { left: `calc(${middle} - ${width} / 2)`, width: `calc(${width})` });
        rows[plan.row[n]].append(nodes[n]);
      }
      for (const each of rows) each.hidden = !each.children.length;
      canvas.replaceChildren(lines, ...rows);
    };
    const lay = () => {
      const width = canvas.clientWidth;
      if (!width) return;
      const isFirst = !plan;
      const abreast = Math.max(1, Math.floor((width + GAP) / (BOX + GAP)));
      const wanted = graph.plans[Math.min(abreast, graph.plans.length) - 1];
      if (wanted !== plan) arrange(wanted);
      const rows = [...canvas.children].slice(1);
      const heights = rows.map((each) => Math.max(0, ...[...each.children].map((n) => n.offsetHeight)));
      rows.forEach((each, at) => (each.style.height = `${heights[at]}px`));
      connect(rows, width);
      if (isFirst) canvas.dispatchEvent(new Event("placed", { bubbles: true }));
    };
    // The edges of a box leave it as one, and pass the rows below it down to the last box that it leads to.
    const connect = (rows, width) => {
      const top = rows.map((each) => each.offsetTop);
      const bottom = rows.map((each, at) => top[at] + each.offsetHeight);
      const x = (part) => ((part * width) / WHOLE).toFixed(1);
      const path = nodes.flatMap((_, n) => {
        // Of a large graph, edges that pass more rows than are planned for are not drawn.
        const users = leads[n].filter((to) => plan.row[to] - plan.row[n] - 1 <= plan.passing[n].length);
        if (!users.length) return [];
        const way = [plan.middle[n], ...plan.passing[n]];
        const step = (at, to, arrow) => {
          const [from, y, end] = [x(way[at]), bottom[plan.row[n] + at], top[plan.row[n] + at + 1]];
          return `M${from} ${y}C${from} ${(y + end) / 2} ${x(to)} ${(y + end) / 2} ${x(to)} ${end}${arrow}`;
        };
        const down = way.map((part, at) => `M${x(part)} ${top[plan.row[n] + at] + (at ? 0 : nodes[n].offsetHeight)}V${bottom[plan.row[n] + at]}`);
        const along = plan.passing[n].map((part, at) => step(at, part, ""));
        const ends = users.map((to) => step(plan.row[to] - plan.row[n] - 1, plan.middle[to], ARROW));
        return [...down, ...along, ...ends];
      });
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
    const omitted = graph.plans.some((it) => it.omitted) ? " Edges that pass many others are not drawn: an opened box says what it takes." : "";
    const said = element("p", {}, `${count(nodes.length, "box", "boxes")}, from top to bottom; below each stands what leaves it. Open a box to see what it holds.${folded}${omitted}`);
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
