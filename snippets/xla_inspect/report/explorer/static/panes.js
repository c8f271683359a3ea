// The explorer's panes: each draws one view of a capture. Text from a compiler is only ever set as text.
"use strict";
{
  const { Model } = (globalThis.xlaExplorer ??= {});
  const SVG = "http://www.w3.org/2000/svg";
  const AROUND = 2; // unchanged rows shown beside a change

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === false || value === undefined) continue;
      if (key === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  };

  const hue = (place) => (place < 0 ? undefined : `--hue: ${(place * 137.5) % 360}`);

  // A line that belongs to a place in Python: a button where it does, else plain.
  const line = (text, place, state, extra = {}) =>
    element(
      place < 0 && !extra.always ? "span" : "button",
      {
        class: ["line", extra.kind ?? "", place >= 0 && place === state.place ? "lit" : ""].join(" ").trim(),
        style: hue(place),
        type: place < 0 && !extra.always ? undefined : "button",
        tabindex: place < 0 && !extra.always ? undefined : -1,
        "data-place": place,
        "data-instruction": extra.instruction,
        "aria-pressed": place < 0 ? undefined : String(place === state.place),
      },
      extra.label ? element("span", { class: "hidden" }, `${extra.label}: `) : "",
      text || " ",
    );

  const source = (model, state) =>
    model.data.sources.map(([file, lines], number) =>
      element(
        "section",
        { class: "file" },
        element("h4", {}, file),
        element(
          "ol",
          { class: "code" },
          ...lines.map((text, at) =>
            element("li", {}, line(text, model.findPlace(number, at + 1), state)),
          ),
        ),
      ),
    );

  const text = (lines, state) => [
    element("ol", { class: "code" }, ...lines.map(([shown, place]) => element("li", {}, line(shown, place, state)))),
  ];

  const row = (model, it, state, prefix = "") => {
    const labels = { added: "added", removed: "removed", changed: "changed" };
    return element(
      "li",
      { class: it.kind },
      it.kind === "changed" && it.was
        ? element("span", { class: "line was" }, element("span", { class: "hidden" }, "before: "), prefix + model.print(it.was, state.switches))
        : "",
      line(prefix + model.print(it, state.switches), it.place, state, {
        always: true,
        instruction: it.instruction,
        kind: it.kind,
        label: labels[it.kind],
      }),
    );
  };

  // A computation, folded unless it is worth a look: its rows are made when it opens. Where only changes are wanted,
  // runs of unchanged rows fold into a button that shows them.
  const computation = (model, it, state, onlyChanges) => {
    const lit = it.rows.some((each) => each.place >= 0 && each.place === state.place);
    const changes = onlyChanges && it.rows.some((each) => each.kind !== "same");
    const fold = element(
      "details",
      { class: `computation ${it.kind ?? ""}` },
      element("summary", {}, `${it.isEntry ? "ENTRY " : ""}%${it.name}`, element("small", {}, ` ${it.rows.length}`)),
    );
    const fill = () => {
      if (fold.children.length === 1) fold.append(rows(model, it, state, onlyChanges));
    };
    fold.addEventListener("toggle", () => fold.open && fill());
    if (it.isEntry || lit || changes) {
      fill();
      fold.open = true;
    }
    return fold;
  };

  const rows = (model, it, state, onlyChanges) => {
    const list = element("ol", { class: "code" });
    const near = it.rows.map((_, at) =>
      it.rows.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((other) => other.kind !== "same"),
    );
    let hidden = [];
    const flush = () => {
      const folded = hidden;
      hidden = [];
      if (!folded.length) return;
      const more = element("button", { type: "button", class: "more" }, `${folded.length} unchanged`);
      const item = element("li", {}, more);
      more.addEventListener("click", () => item.replaceWith(...folded.map((each) => row(model, each, state))));
      list.append(item);
    };
    it.rows.forEach((each, at) => {
      if (onlyChanges && !near[at]) hidden.push(each);
      else {
        flush();
        list.append(row(model, each, state));
      }
    });
    flush();
    return list;
  };

  const module = (model, number, state) =>
    model.module(number).map((it) => computation(model, { ...it, rows: it.rows.map((r) => ({ ...r, kind: "same" })) }, state, false));

  const sparkline = (model, at) => {
    const counts = model.data.states.map((_, number) => model.instructionCount(number));
    const [width, height, most] = [240, 40, Math.max(...counts)];
    const x = (number) => 4 + ((width - 8) * number) / Math.max(counts.length - 1, 1);
    const y = (count) => height - 4 - ((height - 8) * count) / most;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("class", "spark");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Instructions after each pass: ${counts[0]} at import, ${counts[at]} here, ${counts.at(-1)} at the end`);
    const path = document.createElementNS(SVG, "polyline");
    path.setAttribute("points", counts.map((count, number) => `${x(number)},${y(count)}`).join(" "));
    const mark = document.createElementNS(SVG, "circle");
    mark.setAttribute("cx", x(at));
    mark.setAttribute("cy", y(counts[at]));
    mark.setAttribute("r", 3.5);
    svg.append(path, mark);
    return svg;
  };

  const passName = (state) => state.pass || "as imported";

  const passes = (model, state) => {
    const shown = (number) => {
      const it = model.data.states[number];
      return !state.search || `${it.pipeline} ${passName(it)} ${it.summary}`.toLowerCase().includes(state.search.toLowerCase());
    };
    const option = (number) => {
      const it = model.data.states[number];
      const selected = number === state.pass;
      return element(
        "li",
        { role: "option", id: `${state.id}-pass-${number}`, "data-pass": number, "aria-selected": String(selected), class: selected ? "lit" : "" },
        element("b", {}, passName(it)),
        element("small", {}, it.summary || `${model.instructionCount(number)} instructions`),
      );
    };
    const groups = model.pipelines().flatMap(({ pipeline, states, silent }) => {
      const kept = states.filter(shown);
      if (!kept.length) return [];
      const name = element("li", { role: "presentation", class: "pipeline" }, pipeline, element("small", {}, ` ${silent} more runs changed nothing`));
      return [name, ...kept.map(option)];
    });
    const list = element(
      "ul",
      {
        class: "passes",
        role: "listbox",
        tabindex: 0,
        "aria-label": "Passes that changed the module",
        "aria-activedescendant": `${state.id}-pass-${state.pass}`,
      },
      ...(shown(0) ? [option(0)] : []),
      ...groups,
    );
    const it = model.data.states[state.pass];
    const delta = model.countDelta(state.pass).map(([opcode, n]) => `${n > 0 ? "+" : "−"}${Math.abs(n)} ${opcode}`);
    const diff = model.diff(state.pass).filter((c) => state.pass === 0 || state.all || c.rows.some((r) => r.kind !== "same"));
    const detail = element(
      "div",
      { class: "detail" },
      sparkline(model, state.pass),
      element("p", { class: "what" }, element("b", {}, passName(it)), it.pipeline ? ` in ${it.pipeline}: ` : ": ", it.summary || "the module that the compiler got"),
      element("p", { class: "delta" }, delta.length ? delta.join(", ") : "as many of each opcode as before"),
      ...diff.map((c) => computation(model, c, state, state.pass > 0 && !state.all)),
      diff.length ? "" : element("p", {}, "No instruction differs: only names, order or the header."),
    );
    return [element("div", { class: "step" }, list, detail)];
  };

  // What there is to see: name -> { title, draw(model, state) }, `draw` returning nodes, in the order of the tabs.
  const views = (globalThis.xlaExplorer.views ??= {});
  Object.assign(views, {
    jaxpr: { title: "jaxpr", draw: (model, state) => text(model.data.jaxpr, state) },
    stablehlo: { title: "StableHLO", draw: (model, state) => text(model.data.stablehlo, state) },
    before: { title: "HLO", draw: (model, state) => module(model, 0, state) },
    passes: { title: "Passes", draw: passes },
    after: { title: "Optimized HLO", draw: (model, state) => module(model, model.data.states.length - 1, state) },
  });

  Object.assign(globalThis.xlaExplorer, { Model, element, source });
}
