// The memory plan: the horizontal axis is program order, the vertical axis is bytes. Each value is a box that spans its
// live range and its bytes in an allocation.
"use strict";
{
  const { element, drawn, hue, size, whole, count, views, help, breakable } = globalThis.xlaExplorer;
  const HEIGHT = 420; // the height of all allocations together, in CSS pixels
  const LEAST = 8; // the minimum height of an allocation, in CSS pixels
  const GROUPS = [
    ["parameter", "Arguments"],
    ["output", "Outputs"],
    ["temporary", "Temporaries"],
    ["constant", "Constants"],
  ];

  const describe = (model, plan, allocation, value) =>
    `${value.name}${value.index}: ${value.shape}, ${whole(value.size)} bytes at offset ${whole(value.offset)} of ` +
    `${allocation.said}; lives from ${value.start} (${plan.sequence[value.start] ?? "the start"}) to ${value.end}` +
    `${plan.sequence[value.end] ? ` (${plan.sequence[value.end]})` : ", the end"}` +
    (value.place >= 0 ? `; ${model.place(value.place)}` : "");

  // Return the fraction of a box, from its left edge, that no later box covers. Values may share memory.
  const clearOf = (values, at) => {
    const value = values[at];
    const over = values.slice(at + 1).filter((it) => it.start <= value.end && it.end >= value.start && it.offset < value.offset + value.size && it.offset + it.size > value.offset);
    const end = Math.min(value.end + 1, ...over.map((it) => Math.max(it.start, value.start)));
    return (end - value.start) / (value.end - value.start + 1);
  };

  const label = (name, height, part) => {
    const isLow = height < 32;
    const shown = element("span", { class: isLow ? "one" : "" }, ...(isLow ? [name] : breakable(name)));
    return element("i", { class: "label", style: `width: ${(100 * part).toFixed(1)}%` }, shown);
  };

  const box = (model, plan, allocation, at, scale, state) => {
    const value = allocation.values[at];
    const across = plan.end + 1;
    const said = describe(model, plan, allocation, value);
    const height = Math.max(value.size * scale, 4);
    const style = [
      `left: ${((100 * value.start) / across).toFixed(3)}%`,
      `width: ${((100 * (value.end - value.start + 1)) / across).toFixed(3)}%`,
      `bottom: ${(value.offset * scale).toFixed(1)}px`,
      `height: ${height.toFixed(1)}px`,
      hue(value.place) ?? "",
    ];
    return element(
      "button",
      {
        type: "button",
        class: `value stop ${allocation.kind} ${value.place >= 0 && value.place === state.place ? "lit" : ""}`,
        style: style.join("; "),
        tabindex: -1,
        title: said,
        "aria-label": said,
        "aria-pressed": value.place >= 0 && String(value.place === state.place),
        "data-place": value.place,
        "data-said": said,
      },
      height < 14 ? "" : label(value.name, height, clearOf(allocation.values, at)),
    );
  };

  // Draw the live bytes at each position as a curve.
  const drawLiveBytes = (plan) => {
    const [width, height] = [plan.end + 1, 60];
    const most = Math.max(plan.peak[1], 1);
    const steps = plan.live.map((bytes, at) => `L${at} ${(height - (height * bytes) / most).toFixed(1)}H${at + 1}`);
    return drawn(
      "svg",
      { class: "live", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("path", { d: `M0 ${height}${steps.join("")}V${height}Z` }),
    );
  };

  const planOf = (model, state) => (state.donated && model.data.donated ? model.data.donated : model.data.buffers);

  const draw = (model, state, show) => {
    const plan = planOf(model, state);
    if (plan.missing) return [element("p", { class: "told" }, `There is no memory plan to draw: ${plan.missing}.`)];
    const total = Math.max(plan.allocations.reduce((sum, each) => sum + each.size, 0), 1);
    const groups = GROUPS.map(([kind, title]) => [title, plan.allocations.filter((each) => each.kind === kind)]);
    const shown = groups.filter(([, all]) => all.length).map(([title, all]) => {
      const bytes = all.reduce((sum, each) => sum + each.size, 0);
      return element(
        "section",
        { class: "group", role: "group", "aria-label": title },
        element("p", { class: "named" }, `${title}: ${size(bytes)} in ${count(all.length, "allocation")}`),
        ...all.map((each) => {
          const height = Math.max((HEIGHT * each.size) / total, LEAST);
          return element(
            "div",
            { class: `allocation ${each.kind}`, style: `height: ${height.toFixed(1)}px` },
            ...each.values.map((_, n) => box(model, plan, each, n, height / Math.max(each.size, 1), state)),
          );
        }),
      );
    });
    const [position, bytes] = plan.peak;
    const mark = element("i", { class: "peak", style: `left: ${((100 * (position + 0.5)) / (plan.end + 1)).toFixed(3)}%` });
    const at = plan.sequence[position] ? `at ${plan.sequence[position]}, position ${position}` : "when the program ends";
    const told = element("p", { class: "told", "aria-live": "polite" }, "Hover over a box, or move to it with the arrow keys, to read its description.");
    const tell = (event) => {
      const said = event.target.closest?.("[data-said]")?.dataset.said;
      if (said) told.textContent = said;
    };
    const { memory } = plan;
    const given = element("input", { type: "checkbox", on: { change: () => show({ donated: given.checked }) } });
    given.checked = Boolean(state.donated);
    const inside = plan.inside && `${count(plan.inside, "value")} inside kernels ${plan.inside === 1 ? "has" : "have"} no live range and ${plan.inside === 1 ? "is" : "are"} left out.`;
    const explained = help(
      "the memory plan",
      `The horizontal axis is the order of the program, from 0 to ${plan.end}; the vertical axis is bytes. Each box is a value: its width is its live range, its height is its place in an allocation, and its color is that of its line of Python. The curve shows the live bytes at each position, counting values that share memory once. The dashed line marks the peak.`,
      inside,
      memory && element("span", { class: "analysis" }, `memory_analysis() reports, in bytes: arguments ${whole(memory.arguments)}, outputs ${whole(memory.outputs)}, shared by arguments and outputs ${whole(memory.aliased)}, temporaries ${whole(memory.temporaries)}, peak ${whole(memory.peak)}.`),
    );
    const peak = element("p", { class: "sum" }, "Peak of live bytes, ", ...breakable(at), " (dashed line): ", element("b", { class: "most" }, whole(bytes)));
    return [
      element(
        "div",
        { class: "buffers" },
        element("div", { class: "over" }, peak, model.data.donated ? element("label", { class: "donate" }, given, " with its arguments donated") : "", explained.button),
        explained.words,
        element("div", { class: "plan", on: { pointerover: tell, focusin: tell } }, drawLiveBytes(plan), ...shown, mark),
        told,
      ),
    ];
  };

  Object.assign(views.buffers, {
    draw,
    count: (model, place, state) =>
      planOf(model, state).allocations.reduce((sum, each) => sum + each.values.filter((value) => value.place === place).length, 0),
  });
}
