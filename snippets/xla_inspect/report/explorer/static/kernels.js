// What is launched, in order, with its work; and how near each launch could come to the limits of the hardware.
"use strict";
{
  const { element, drawn, size, whole, count, views } = globalThis.xlaExplorer;
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [360, 250, 44, 8, 12, 34]; // of the drawing, CSS pixels of a phone
  const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const ALIASES = { kCustomKernel: "kernel" };

  const short = (number) => {
    const text = number >= 100 ? number.toFixed(0) : number.toPrecision(number < 1 ? 2 : 3);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  const amount = (number) => {
    const [unit, prefix] = PREFIXES.find(([least]) => number >= least) ?? [1, ""];
    return prefix ? `${short(number / unit)}\u00a0${prefix}` : short(number);
  };
  const tight = (text) => text.replaceAll(" ", "\u00a0"); // a number and its unit stay on one line
  const bytes = (number) => tight(size(number));
  const time = (seconds) => (seconds >= 1e-3 ? tight(`${short(seconds * 1e3)} ms`) : tight(`${short(seconds * 1e6)} µs`));

  const bytesOf = (it) => (it.read ?? 0) + (it.written ?? 0);
  const intensityOf = (it) => (it.flops && bytesOf(it) ? it.flops / bytesOf(it) : null);
  const runs = (it) => (it.runs === 1 ? "" : it.runs === undefined ? "as often as it takes" : `${whole(it.runs)} times`);
  const kind = (it) => [it.fusion ? `${it.fusion} fusion` : (ALIASES[it.kind] ?? it.kind), it.within ? `in ${it.within.join(", ")}` : "", it.within ? runs(it) : ""].filter(Boolean).join(", ");
  const shape = (it) => (it.grid ? `${it.grid.join("×")} blocks of ${it.threads.join("×")} threads, ${size(it.shared ?? 0)} shared` : "");

  const say = (it) =>
    [
      `${it.name}: ${whole(it.flops)} operations, ${whole(bytesOf(it))} bytes`,
      intensityOf(it) === null ? "" : `${short(intensityOf(it))} operations per byte`,
      it.seconds === undefined ? "" : `at least ${time(it.seconds)}, limited by ${it.limit}`,
      it.measured === undefined ? "" : `measured ${time(it.measured)}`,
    ].filter(Boolean).join("; ") + ".";

  // The numbers of an instruction's lines of Python, its own first.
  const placesOf = (it) => it.places ?? [];

  // Decades of a logarithmic axis that hold all numbers.
  const decades = (numbers) => [Math.floor(Math.log10(Math.min(...numbers))), Math.ceil(Math.log10(Math.max(...numbers)))];

  const roofline = (model, state, show, kernels, tell) => {
    const { bandwidth, roofs } = kernels.hardware;
    const shown = kernels.launches.map((it, at) => ({ it, at })).filter(({ it }) => intensityOf(it) !== null && it.seconds);
    if (!shown.length) return element("p", {}, "No launch has both operations and bytes of main memory, so there is no dot to draw.");
    const rate = ({ it }) => it.flops / it.seconds;
    const ridges = roofs.map(([, most]) => most / bandwidth);
    const [left, right] = decades([...shown.map(({ it }) => intensityOf(it)), ...ridges]);
    const measured = shown.filter(({ it }) => it.measured).map(({ it }) => it.flops / it.measured);
    const [bottom, top] = decades([...shown.map(rate), ...measured, ...roofs.map(([, most]) => most), bandwidth * 10 ** left]);
    const x = (value) => LEFT + ((WIDTH - LEFT - RIGHT) * (Math.log10(value) - left)) / Math.max(right - left, 1);
    const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (Math.log10(value) - bottom)) / Math.max(top - bottom, 1);
    const at = (value) => value.toFixed(1);
    const range = (from, to) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
    const label = (text, attributes) => drawn("text", attributes, text);
    const highest = Math.max(...roofs.map(([, most]) => most), bandwidth * 10 ** left);
    const [start, end] = [10 ** left, Math.min(highest / bandwidth, 10 ** right)];
    const turn = (-180 * Math.atan2(y(bandwidth * start) - y(bandwidth * end), x(end) - x(start))) / Math.PI;
    const middle = Math.sqrt(start * end);
    // Names of roofs that lie close together must not lie on one another.
    let below = -Infinity;
    const lines = [...roofs].sort((a, b) => b[1] - a[1]).map(([name, most]) => {
      const above = Math.max(y(most) - 4, below + 12);
      below = above;
      return drawn(
        "g",
        { class: "roof" },
        drawn("path", { d: `M${at(x(Math.max(most / bandwidth, start)))} ${at(y(most))}H${WIDTH - RIGHT}` }),
        label(`${name}, ${amount(most)}/s`, { x: WIDTH - RIGHT, y: at(above), "text-anchor": "end" }),
      );
    });
    const dots = shown.map(({ it, at: number }) => {
      const place = placesOf(it)[0] ?? -1;
      const choose = () => show({ place: place === state.place ? -1 : place, chosen: null });
      const [cx, cy] = [at(x(intensityOf(it))), at(y(it.flops / it.seconds))];
      const reached = it.measured && at(y(it.flops / it.measured));
      return drawn(
        "g",
        {
          class: "dot stop",
          role: "button",
          tabindex: -1,
          "aria-label": say(it),
          "aria-pressed": String(place >= 0 && place === state.place),
          "data-places": placesOf(it).join(" "),
          "data-said": say(it),
          "data-launch": number,
          on: {
            click: choose,
            keydown: (event) => {
              if (![" ", "Enter"].includes(event.key)) return;
              event.preventDefault();
              choose();
            },
            focus: tell,
          },
        },
        drawn("title", {}, say(it)),
        it.measured ? drawn("path", { class: "measured", d: `M${cx} ${cy}V${reached}` }) : "",
        it.measured ? drawn("circle", { class: "measured", cx, cy: reached, r: 3.5 }) : "",
        drawn("circle", { cx, cy, r: 5 }),
      );
    });
    return drawn(
      "svg",
      { class: "roofline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Roofline: operations a second over operations per byte, both logarithmic" },
      ...range(left, right).map((power) =>
        drawn("g", { class: "tick" }, drawn("path", { d: `M${at(x(10 ** power))} ${TOP}V${HEIGHT - BOTTOM}` }), label(amount(10 ** power), { x: at(x(10 ** power)), y: HEIGHT - BOTTOM + 13, "text-anchor": "middle" })),
      ),
      ...range(bottom, top).filter((power) => (top - power) % Math.ceil((top - bottom) / 6) === 0).map((power) =>
        drawn("g", { class: "tick" }, drawn("path", { d: `M${LEFT} ${at(y(10 ** power))}H${WIDTH - RIGHT}` }), label(`${amount(10 ** power)}/s`, { x: LEFT - 4, y: at(y(10 ** power) + 4), "text-anchor": "end" })),
      ),
      label("operations per byte of main memory", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }),
      drawn("path", { class: "memory", d: `M${at(x(start))} ${at(y(bandwidth * start))}L${at(x(end))} ${at(y(bandwidth * end))}` }),
      label(`memory, ${amount(bandwidth)}B/s`, { class: "slope", "text-anchor": "middle", transform: `translate(${at(x(middle))} ${at(y(bandwidth * middle) + 15)}) rotate(${at(turn)})` }),
      ...lines,
      ...dots,
    );
  };

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
    const sum = (value) => kernels.launches.reduce((total, it) => total + value(it) * (it.runs ?? 1), 0);
    const parts = [`${amount(sum((it) => it.flops))} operations`, `${size(sum(bytesOf))} of main memory read and written`];
    if (kernels.hardware) parts.push(`at least ${time(sum((it) => it.seconds ?? 0))}, one launch after the other`);
    const isOpen = kernels.launches.some((it) => it.runs === undefined);
    const roles = { kernel: "kernels", collective: "collectives", copy: "copies" };
    const counted = Object.entries(roles)
      .map(([role, several]) => [kernels.launches.filter((it) => (it.role ?? "kernel") === role).length, role, several])
      .filter(([number, role]) => number || role === "kernel")
      .map(([number, role, several]) => count(number, role, several));
    return `${counted.join(", ")}: ${parts.join(", ")}${isOpen ? ", where nobody knows how often a loop or a branch runs counted once" : ""}.`;
  };

  const undrawn = ({ launches }) => {
    const without = launches.filter((it) => intensityOf(it) === null).length;
    const why = "compute nothing that is counted, or touch no main memory";
    return without ? ` Without a dot: ${count(without, "launch", "launches")} that ${why}.` : "";
  };

  const recorded = ({ date, device, versions, others, changed }) => {
    const made = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
    const names = Object.entries(others).map(([name, seconds]) => `${name} (${time(seconds)})`);
    const kinds = Object.entries(changed).map(([name, number]) => `${number < 0 ? "−" : "+"}${Math.abs(number)} ${name}`);
    return [
      `Measured on ${date} on ${device} by ${made}, which tunes its kernels on the device.`,
      kinds.length ? ` Launched there, against what is shown here: ${kinds.join(", ")}.` : " It launches the same kinds of kernels.",
      names.length ? ` Under names that are not here: ${names.join(", ")}.` : "",
    ].join("");
  };

  const draw = (model, state, show) => {
    const { kernels } = model.data;
    const told = element("p", { class: "told", "aria-live": "polite" }, "Rest on a dot, or reach it with the arrow keys, to read what it is; press it for its line of Python.");
    const tell = (event) => {
      const said = event.target.closest?.("[data-said]")?.dataset.said;
      if (said) told.textContent = said;
    };
    const source = () => [
      kernels.statement,
      ` Peaks of one device${kernels.hardware.devices > 1 ? `, of which a chip has ${kernels.hardware.devices}` : ""}: `,
      element("a", { href: kernels.hardware.source, rel: "noreferrer" }, kernels.hardware.source.replace("https://", "")),
      `. ${kernels.hardware.gap}${undrawn(kernels)}`,
    ];
    return [
      element(
        "div",
        { class: "kernels" },
        element("p", {}, summary(kernels)),
        ...(kernels.hardware
          ? [element("div", { on: { pointerover: tell, focusin: tell } }, roofline(model, state, show, kernels, tell)), told, element("p", { class: "model" }, ...source())]
          : [element("p", { class: "model" }, kernels.reason)]),
        kernels.measured ? element("p", { class: "model" }, recorded(kernels.measured)) : "",
        table(model, state, kernels),
      ),
    ];
  };

  views.kernels = {
    title: "Kernels",
    draw,
    count: (model, place) => model.data.kernels.launches.filter((it) => placesOf(it).includes(place)).length,
  };
}
