// The passes view: the passes that changed the module, by pipeline, and the changes of each pass.
"use strict";
{
  const { element, drawn, computations, inModule, views } = globalThis.xlaExplorer;
  const [WIDTH, HEIGHT, EDGE] = [240, 40, 4];

  const passName = (state) => state.pass || state.label || "as imported";

  const sparkline = (model, at) => {
    const counts = model.data.states.map((_, number) => model.instructionCount(number));
    const most = Math.max(...counts, 1);
    const x = (number) => EDGE + ((WIDTH - 2 * EDGE) * number) / Math.max(counts.length - 1, 1);
    const y = (count) => HEIGHT - EDGE - ((HEIGHT - 2 * EDGE) * count) / most;
    const label = `Instructions: ${counts[0]} at import, ${counts[at]} here, ${counts.at(-1)} at the end`;
    return element(
      "figure",
      { class: "counted" },
      drawn(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "spark", preserveAspectRatio: "xMinYMid", role: "img", "aria-label": label },
        drawn("polyline", { points: counts.map((count, n) => `${x(n).toFixed(1)},${y(count).toFixed(1)}`).join(" ") }),
        drawn("circle", { cx: x(at), cy: y(counts[at]), r: 3.5 }),
      ),
      element("figcaption", {}, label),
    );
  };

  // The mark of a state: its kind, a few words and a sentence. Only a report with numbers has marks.
  const mark = (model, number) => model.data.numbers?.states[number];

  const list = (model, state) => {
    const wanted = state.search.toLowerCase();
    const shown = (number) => {
      const it = model.data.states[number];
      return !wanted || `${it.pipeline} ${passName(it)} ${it.summary}`.toLowerCase().includes(wanted);
    };
    const option = (number) => {
      const it = model.data.states[number];
      const chosen = number === state.pass;
      return element(
        "div",
        { role: "option", id: `${state.id}-pass-${number}`, "data-pass": number, "aria-selected": String(chosen) },
        element("b", {}, passName(it)),
        element("small", {}, it.summary || `${model.instructionCount(number)} instructions`),
        ...(mark(model, number) ? [element("small", { class: `bits ${mark(model, number)[0]}` }, mark(model, number)[1])] : []),
      );
    };
    const groups = model.pipelines().flatMap(({ pipeline, states, silent }) => {
      const kept = states.filter(shown);
      if (!kept.length) return [];
      const said = `${silent} more ${silent === 1 ? "run" : "runs"} changed nothing`;
      const heading = element("div", { class: "pipeline", "aria-hidden": "true" }, pipeline || "the end");
      if (silent) heading.append(element("small", {}, said));
      const label = `${pipeline || "the end"}${silent ? `, ${said}` : ""}`;
      return [element("div", { role: "group", "aria-label": label }, heading, ...kept.map(option))];
    });
    const options = [...(shown(0) ? [option(0)] : []), ...groups];
    if (!options.length) return element("p", { class: "passes" }, `No pass that changed the module has “${state.search}” in its name, pipeline or summary.`);
    return element(
      "div",
      {
        class: "passes",
        role: "listbox",
        tabindex: 0,
        "aria-label": "Passes that changed the module",
        "aria-activedescendant": `${state.id}-pass-${state.pass}`,
      },
      ...options,
    );
  };

  const drawDifference = (model, state, found) => {
    const differs = (c) => c.rows.some((each) => each.kind !== "same");
    const shown = found.filter((c) => state.pass === 0 || state.all || differs(c));
    if (!shown.length) return element("p", {}, "No instruction changed; only names, the order or the header did.");
    return computations(model, shown, state, state.pass > 0 && !state.all);
  };

  // Draw what a pass changed. The difference of a large module is computed in a worker and drawn when it arrives.
  const difference = (model, state) => {
    if (!model.isSlow(state.pass)) return [drawDifference(model, state, model.diff(state.pass))];
    const [asked, coming] = [state.pass, element("p", { class: "coming" }, "Comparing …")];
    model.diffSoon(asked).then((found) => {
      if (!coming.isConnected || state.pass !== asked) return;
      coming.replaceWith(drawDifference(model, state, found));
    });
    return [coming];
  };

  const detail = (model, state) => {
    const it = model.data.states[state.pass];
    const delta = model.countDelta(state.pass).map(([opcode, n]) => `${n > 0 ? "+" : "−"}${Math.abs(n)} ${opcode}`);
    const opcodes = delta.length ? delta.join(", ") : "the counts of all opcodes are unchanged";
    return element(
      "div",
      { class: "detail" },
      sparkline(model, state.pass),
      element(
        "p",
        { class: "what" },
        element("b", {}, passName(it)),
        it.pipeline ? ` in ${it.pipeline}: ` : ": ",
        it.summary || (it.label ? "the module that the compiler received is missing" : "the module that the compiler received"),
      ),
      state.pass ? element("p", { class: "delta" }, opcodes) : "",
      mark(model, state.pass) ? element("p", { class: `bits ${mark(model, state.pass)[0]}` }, mark(model, state.pass)[2]) : "",
      model.data.numbers && (state.pass === 0 || mark(model, state.pass)) ? element("p", {}, model.data.numbers.note) : "",
      ...difference(model, state),
    );
  };

  views.passes = {
    title: "Passes",
    printsRows: true,
    draw: (model, state) => [element("div", { class: "step" }, list(model, state), detail(model, state))],
    count: (model, place, state) => inModule(model, state.pass, place),
    // Show another pass: keep the list, change its selected option, and replace the detail.
    update: (pane, model, state) => {
      const options = pane.querySelector('[role="listbox"]');
      const chosen = options?.querySelector(`[data-pass="${state.pass}"]`);
      if (!chosen) return false;
      options.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
      chosen.setAttribute("aria-selected", "true");
      options.setAttribute("aria-activedescendant", chosen.id);
      pane.querySelector(".detail").replaceWith(detail(model, state));
      return true;
    },
  };
}
