// The optimized entry computation as a layered graph: instructions that do work are boxes, and the values between them
// are edges. A box can be opened.
"use strict";
{
  const { element, drawn, row, size, count, views, badge, legend, breakable, help, Zoom } = globalThis.xlaExplorer;
  const [BOX, GAP] = [190, 12]; // CSS pixels: the minimum width of a box and the gap between boxes, as in graphs.py
  const WHOLE = 1000; // the width of the canvas in the units of a plan
  const [LEAST, MOST, EDGE] = [26, 72, 10]; // CSS pixels: the minimum and maximum gap between rows, and the margin around all rows
  const ARROW = "m-3-4l3 4l3-4";

  // Create a box with the name, kind, operands and results of an instruction. When opened, it shows the instruction and
  // the computations that it calls.
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
        element("b", {}, badge(it.kind), ...breakable(it.name)),
        element("span", {}, it.head + (it.opcodes.length ? `: ${it.opcodes.join(", ")}` : "")),
        it.reads.length ? element("small", {}, `reads ${it.reads.join(", ")}`) : "",
      ),
    );
    const made = it.makes.length ? element("p", { class: "makes" }, it.makes.join(", ")) : "";
    const fill = () => {
      fold.append(
        ...moved.map((said) => element("p", { class: "moved" }, said)),
        ...held.map((c) =>
          element("ol", { class: "code" }, ...c.rows.map((each) => row(model, { ...each, kind: "same" }, state))),
        ),
      );
    };
    fold.addEventListener("toggle", () => {
      if (fold.open && fold.children.length === 1) fill();
      fold.dispatchEvent(new Event("sized", { bubbles: true }));
    });
    return element("div", { class: "node" }, fold, made);
  };

  // Draw the bytes before and after optimization as bars on one scale.
  const bars = ({ before, after, chip }) => {
    const most = Math.max(before, after, chip ?? 0, 1);
    const bar = (name, bytes) => [
      element("dt", {}, name),
      element("dd", {}, element("i", { style: `width: ${((100 * bytes) / most).toFixed(1)}%` })),
      element("dd", {}, size(bytes)),
    ];
    return element("dl", { class: "traffic" }, ...bar("unfused", before), ...bar("optimized", after), ...(chip ? bar("on the chip", chip) : []));
  };

  // Draw the boxes in rows and the edges between them. `layOut` fits the drawing to a width and, if given, a height.
  const canvasOf = (graph, nodes) => {
    const lines = drawn("svg", { class: "edges", "aria-hidden": "true" });
    const canvas = element("div", { class: "canvas" }, lines);
    const leads = nodes.map(() => []);
    for (const [from, to] of graph.edges) leads[from].push(to);
    let [plan, gap] = [null, LEAST];

    // Place the boxes as a plan says. The plan depends on how many boxes fit side by side.
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
    const layOut = (width, height) => {
      canvas.style.width = `${width}px`;
      const abreast = Math.max(1, Math.floor((width + GAP) / (BOX + GAP)));
      const wanted = graph.plans[Math.min(abreast, graph.plans.length) - 1];
      if (wanted !== plan) arrange(wanted);
      const rows = [...canvas.children].slice(1);
      const heights = rows.map((each) => Math.max(0, ...[...each.children].map((n) => n.offsetHeight)));
      const taken = heights.reduce((sum, each) => sum + each, 0) + 2 * EDGE;
      const between = rows.length - 1;
      if (height !== undefined) gap = Math.min(Math.max((height - taken) / Math.max(between, 1), LEAST), MOST);
      const spare = Math.max((height ?? 0) - taken - gap * between, 0);
      let y = EDGE + spare / 3;
      const top = heights.map((each) => (y += each + gap) - each - gap);
      rows.forEach((each, at) => Object.assign(each.style, { top: `${top[at]}px`, height: `${heights[at]}px` }));
      const whole = Math.max(y - gap + EDGE + (2 * spare) / 3, 1);
      canvas.style.height = `${whole}px`;
      connect(top, heights, width, whole);
      return [width, whole];
    };
    // Draw the edges. All edges of a box share one path, which passes other rows down to the last box it leads to.
    const connect = (top, heights, width, whole) => {
      const x = (part) => ((part * width) / WHOLE).toFixed(1);
      const bottom = (row) => top[row] + heights[row];
      const path = nodes.flatMap((_, n) => {
        // In a large graph, do not draw edges that pass more rows than the plan has positions for.
        const users = leads[n].filter((to) => plan.row[to] - plan.row[n] - 1 <= plan.passing[n].length);
        if (!users.length) return [];
        const way = [plan.middle[n], ...plan.passing[n]];
        const step = (at, to, arrow) => {
          const [from, y, end] = [x(way[at]), bottom(plan.row[n] + at), top[plan.row[n] + at + 1]];
          return `M${from} ${y}C${from} ${(y + end) / 2} ${x(to)} ${(y + end) / 2} ${x(to)} ${end}${arrow}`;
        };
        const down = way.map((part, at) => `M${x(part)} ${top[plan.row[n] + at] + (at ? 0 : nodes[n].offsetHeight)}V${bottom(plan.row[n] + at)}`);
        const along = plan.passing[n].map((part, at) => step(at, part, ""));
        const ends = users.map((to) => step(plan.row[to] - plan.row[n] - 1, plan.middle[to], ARROW));
        return [...down, ...along, ...ends];
      });
      lines.setAttribute("viewBox", `0 0 ${width} ${whole}`);
      lines.replaceChildren(drawn("path", { d: path.join("") }));
    };
    return { canvas, layOut };
  };

  const draw = (model, state) => {
    const graph = model.data.graph;
    const nodes = graph.nodes.map((it) => box(model, it, state));
    const { canvas, layOut } = canvasOf(graph, nodes);
    const zoom = new Zoom(canvas, "Graph of the optimized program", layOut);
    // When a box opens, move the rows below it down before the next frame is painted.
    canvas.addEventListener("sized", () => zoom.again());
    const folded = graph.folded && `${count(graph.folded, "instruction")} without work ${graph.folded === 1 ? "is" : "are"} folded into the edges and boxes: parameters, constants, tuples and bitcasts.`;
    const omitted = graph.plans.some((it) => it.omitted) && "Edges that pass many others are not drawn: open a box to see its operands.";
    const explained = help(
      "the graph",
      `${count(nodes.length, "box", "boxes")}, from top to bottom, with the results of each box below it. Open a box to see the instructions inside it. A box with a double border is a result of the program.`,
      [folded, omitted].filter(Boolean).join(" "),
      "The bars show the bytes that the launches read from and write to main memory, counting each launch and its operands once. The bar “unfused” is an estimate for the imported program, with one launch per instruction." +
        (graph.traffic.chip ? " The bar “on the chip” is the traffic of the launches to the chip's own memory." : ""),
      "Zoom with the plus, minus and zero keys, or with Ctrl and the mouse wheel. Drag the background to move the graph.",
    );
    const bar = element("div", { class: "over" }, bars(graph.traffic), legend(graph.nodes.map(({ kind }) => kind), graph.kinds), zoom.controls, explained.button);
    return [element("div", { class: "graph" }, bar, explained.words, zoom.window)];
  };

  Object.assign(views.graph, {
    draw,
    count: (model, at) =>
      model.data.graph.nodes.filter((it) => model.held(it).some((c) => c.rows.some((each) => each.place === at))).length,
  });
}
