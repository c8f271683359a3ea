// The kernels view: the launches in order with their work, and how close each could come to the hardware's limits.
"use strict";
{
  const { element, size, whole, count, views, badge, breakable, help, legend, roofline, short, amount, bytes, time, range, bytesOf, intensityOf, placesOf, say } = globalThis.xlaExplorer;
  let isTableOpen = false; // whether the reader left the table open
  const ALIASES = { kCustomKernel: "kernel" };

  const runs = (it) => (it.runs === 1 ? "" : it.runs === undefined ? "an unknown number of times" : `${whole(it.runs)} times`);
  const kind = (it) => [it.fusion ? `${it.fusion} fusion` : (ALIASES[it.kind] ?? it.kind), it.within ? `in ${it.within.join(", ")}` : "", it.within ? runs(it) : ""].filter(Boolean).join(", ");
  const shape = (it) => (it.grid ? `${it.grid.join("×")} blocks of ${it.threads.join("×")} threads, ${size(it.shared ?? 0)} shared` : "");

  const lineOf = (model, state, it, place) =>
    element(
      "button",
      {
        type: "button",
        class: "stop place",
        tabindex: -1,
        "data-place": place,
        "aria-pressed": String(place === state.place),
        "aria-label": `${model.place(place)}, ${it.name}`,
      },
      String(model.data.places[place][1]),
    );

  const table = (model, state, kernels) => {
    const isModelled = Boolean(kernels.hardware);
    const columns = ["Launch", "Reads", "Writes", "Operations", "Per byte", ...(isModelled ? ["At least"] : []), ...(kernels.measured ? ["Measured"] : []), "Python"];
    const cell = (name, ...content) => element("td", { role: "cell", "data-name": name }, ...content);
    const small = (text) => (text ? element("small", {}, text) : "");
    const rows = kernels.launches.map((it, at) => {
      const places = placesOf(it);
      const moved = (number) => (number === undefined ? "?" : bytes(number));
      return element(
        "tr",
        { role: "row", "data-places": places.join(" "), "data-launch": at, class: places.includes(state.place) ? "lit" : "" },
        element("th", { role: "rowheader", scope: "row" }, it.name, small(kind(it)), small(shape(it))),
        cell("Reads", moved(it.read)),
        cell("Writes", moved(it.written), small(it.chip ? `${bytes(it.chip)} on the chip` : "")),
        cell("Operations", it.unknown ? "?" : amount(it.flops), small(it.transcendentals ? `and ${amount(it.transcendentals)} transcendental` : "")),
        cell("Per byte", intensityOf(it) === null ? "–" : short(intensityOf(it))),
        isModelled ? cell("At least", it.seconds === undefined ? "?" : time(it.seconds), small(it.limit)) : "",
        kernels.measured ? cell("Measured", it.measured === undefined ? "–" : time(it.measured)) : "",
        cell("Python", element("div", {}, ...places.map((place) => lineOf(model, state, it, place)))),
      );
    });
    return element(
      "table",
      { role: "table", class: "launches" },
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...columns.map((name) => element("th", { role: "columnheader", scope: "col" }, name)))),
      element("tbody", { role: "rowgroup" }, ...rows),
    );
  };

  const summary = (kernels) => {
    const sum = (value) => kernels.launches.reduce((total, it) => total + value(it) * (it.runs ?? it.assumed ?? 1), 0);
    const more = kernels.launches.some((it) => it.unknown) ? " + ?" : "";
    const parts = [`${amount(sum((it) => it.flops))}${more} operations`, `${size(sum(bytesOf))} of main memory read and written`];
    if (kernels.estimate) parts.push(`an estimated time of ${range(kernels.estimate)}`);
    const isOpen = kernels.launches.some((it) => it.runs === undefined);
    const roles = { kernel: "kernels", collective: "collectives", copy: "copies" };
    const counted = Object.entries(roles)
      .map(([role, several]) => [kernels.launches.filter((it) => (it.role ?? "kernel") === role).length, role, several])
      .filter(([number, role]) => number || role === "kernel")
      .map(([number, role, several]) => count(number, role, several));
    return `${counted.join(", ")}: ${parts.join(", ")}${isOpen ? ", counting loops and branches with an unknown number of runs once" : ""}.`;
  };

  const undrawn = ({ launches }) => {
    const without = launches.filter((it) => intensityOf(it) === null).length;
    const why = without === 1 ? "has no dot, because it does" : "have no dot, because they do";
    return without ? ` ${count(without, "launch", "launches")} ${why} no counted operations or ${without === 1 ? "uses" : "use"} no main memory.` : "";
  };

  const recorded = ({ date, device, versions, others, changed }) => {
    const made = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
    const names = Object.entries(others).map(([name, seconds]) => `${name} (${time(seconds)})`);
    const kinds = Object.entries(changed).map(([name, number]) => `${number < 0 ? "−" : "+"}${Math.abs(number)} ${name}`);
    return [
      `The times were measured on ${date} on ${device} with ${made}, which autotunes kernels on the device.`,
      kinds.length ? ` Launches in the measured program, relative to the one shown: ${kinds.join(", ")}.` : " The measured program launches the same kinds of kernels.",
      names.length ? ` Measured launches with names that are not in this list: ${names.join(", ")}.` : "",
    ].join("");
  };

  // Draw the launches in order as bars: their estimated times, or their bytes if no times are estimated.
  const bars = (model, state, kernels, tell) => {
    const isTimed = Boolean(kernels.estimate);
    const amountOf = (it) => (isTimed ? (it.estimate?.[1] ?? 0) : (bytesOf(it) + (it.chip ?? 0)) * (it.runs ?? it.assumed ?? 1));
    const most = Math.max(...kernels.launches.map(amountOf), Number.MIN_VALUE);
    const rows = kernels.launches.map((it, at) => {
      const places = placesOf(it);
      const value = isTimed ? (amountOf(it) ? time(amountOf(it)) : "–") : bytes(amountOf(it));
      return element(
        "li",
        { class: "launch", "data-places": places.join(" "), "data-launch": at, "data-said": say(it) },
        element(places.length ? "button" : "span", { class: places.length ? "stop name" : "name", type: places.length && "button", tabindex: places.length && -1, "data-place": places[0] }, badge(it.sort), ...breakable(it.name)),
        element("span", { class: "length" }, element("i", { class: it.sort, style: `width: ${((100 * amountOf(it)) / most).toFixed(1)}%` })),
        element("span", { class: "worth" }, value),
      );
    });
    const said = isTimed ? "The estimated time of each launch, in launch order" : "The bytes that each launch reads and writes, in launch order";
    return element("figure", { class: "bars" }, element("figcaption", {}, said), element("ol", { on: { focusin: tell } }, ...rows));
  };

  const draw = (model, state, show) => {
    const { kernels } = model.data;
    const told = element("p", { class: "told", "aria-live": "polite" }, "Hover over a launch, or move to it with the arrow keys, to read its description; click it to choose its line of Python.");
    const tell = (event) => {
      const said = event.target.closest?.("[data-said]")?.dataset.said;
      if (said) told.textContent = said;
    };
    const drawing = kernels.hardware && roofline(kernels, state, (place) => show({ place, chosen: null }), tell);
    const source = kernels.hardware
      ? [
          kernels.statement,
          ` The peaks of one device${kernels.hardware.devices > 1 ? ` (a chip has ${kernels.hardware.devices} devices)` : ""} are from `,
          element("a", { href: kernels.hardware.source, rel: "noreferrer" }, kernels.hardware.source.replace("https://", "")),
          `. ${kernels.hardware.gap}${undrawn(kernels)}`,
        ]
      : [kernels.reason];
    const explained = help(
      "this view",
      drawing && "Each dot is a launch. A dot further right does more operations per byte of main memory; a dot further up could do more operations per second. A launch below the slope is limited by memory, and a launch below a horizontal line by a unit of the hardware.",
      element("p", { class: "model" }, ...source),
      kernels.times,
      kernels.measured && element("p", { class: "model" }, recorded(kernels.measured)),
    );
    const isNothing = kernels.hardware && !drawing;
    const fold = element("details", { class: "all-figures" }, element("summary", {}, `All figures of ${count(kernels.launches.length, "launch", "launches")}, as a table`));
    const fill = () => fold.open && fold.children.length === 1 && (fold.append(table(model, state, kernels)), true);
    fold.open = isTableOpen;
    fill();
    fold.addEventListener("toggle", () => {
      isTableOpen = fold.open;
      if (fill()) show({});
    });
    return [
      element(
        "div",
        { class: "kernels" },
        element("div", { class: "over" }, element("p", { class: "sum" }, summary(kernels)), legend(kernels.launches.map((it) => it.sort), kernels.kinds), explained.button),
        explained.words,
        element("div", { class: "drawn", on: { pointerover: tell, focusin: tell } }, drawing || "", bars(model, state, kernels, tell)),
        isNothing ? element("p", {}, "No launch has both operations and bytes of main memory, so there is no dot to draw.") : "",
        told,
        fold,
      ),
    ];
  };

  Object.assign(views.kernels, {
    draw,
    count: (model, place) => model.data.kernels.launches.filter((it) => placesOf(it).includes(place)).length,
  });
}
