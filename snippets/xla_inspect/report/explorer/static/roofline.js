// The roofline: the bound of each launch, as operations per second over operations per byte.
"use strict";
{
  const { drawn, size, whole, letterOf } = globalThis.xlaExplorer;
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [360, 264, 52, 8, 28, 34]; // the size and the margins of the drawing, in CSS pixels on a phone
  const [LETTER, TALL, RADIUS] = [6.7, 12, 7]; // the character width and the height of a label, and the radius of a dot
  const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

  const short = (number) => {
    const text = number >= 100 ? number.toFixed(0) : number.toPrecision(number < 1 ? 2 : 3);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  const amount = (number) => {
    const [unit, prefix] = PREFIXES.find(([least]) => number >= least) ?? [1, ""];
    return prefix ? `${short(number / unit)}\u00a0${prefix}` : short(number);
  };
  const tight = (text) => text.replaceAll(" ", "\u00a0"); // keep a number and its unit on one line
  const bytes = (number) => tight(size(number));
  const time = (seconds) => {
    if (seconds >= 1e-3) return tight(`${short(seconds * 1e3)} ms`);
    return tight(seconds && seconds < 1e-8 ? "<0.01 µs" : `${short(seconds * 1e6)} µs`);
  };

  // An estimate is a list of the least, the likely and the greatest time, which is null if a part is not known.
  const range = ([low, likely, high]) => `${time(likely)} (${time(low)} ${high === null ? "or more" : `to ${time(high)}`})`;

  const bytesOf = (it) => (it.read ?? 0) + (it.written ?? 0);
  const intensityOf = (it) => (it.flops && bytesOf(it) ? it.flops / bytesOf(it) : null);
  // Return the numbers of the lines of Python of a launch's instruction, its own line first.
  const placesOf = (it) => it.places ?? [];

  const say = (it) =>
    [
      `${it.name}: ${it.unknown ? "?" : whole(it.flops)} operations, ${whole(bytesOf(it))} bytes`,
      intensityOf(it) === null ? "" : `${short(intensityOf(it))} operations per byte`,
      it.estimate ? `about ${range(it.estimate)}${it.runs === 1 ? "" : " in all runs"}` : "",
      it.seconds === undefined ? "" : `at least ${time(it.seconds)}, limited by ${it.limit}`,
      it.measured === undefined ? "" : `measured ${time(it.measured)}`,
    ].filter(Boolean).join("; ") + ".";

  // Return the first and last power of ten of a logarithmic axis that contains all numbers.
  const decades = (numbers) => [Math.floor(Math.log10(Math.min(...numbers))), Math.ceil(Math.log10(Math.max(...numbers)))];

  // Places labels without overlap: each label takes the first free one of its candidate positions.
  class Labels {
    taken = [];

    fits(box) {
      return this.taken.every((it) => box[0] >= it[2] || box[2] <= it[0] || box[1] >= it[3] || box[3] <= it[1]);
    }

    // `places` are candidate baselines, `[x, y]`. `anchor` is the end of the text there. Return "" if none is free.
    put(text, places, anchor, attributes = {}) {
      const width = LETTER * text.length;
      const shift = { start: 0, middle: width / 2, end: width }[anchor];
      for (const [x, y] of places) {
        const box = [x - shift, y - TALL + 2, x - shift + width, y + 3];
        if (box[0] < 0 || box[2] > WIDTH || !this.fits(box)) continue;
        this.taken.push(box);
        return drawn("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, ...attributes }, text);
      }
      return "";
    }
  }

  // Return the drawing, or null if no launch has both operations and bytes. Clicking a dot calls `choose(place)`, and
  // focusing it calls `tell`.
  const roofline = (kernels, state, choose, tell) => {
    const { bandwidth, roofs } = kernels.hardware;
    const shown = kernels.launches.map((it, number) => ({ it, number })).filter(({ it }) => intensityOf(it) !== null && it.seconds);
    if (!shown.length) return null;
    const rate = ({ it }) => it.flops / it.seconds;
    const ridges = roofs.map(([, most]) => most / bandwidth);
    const [left, right] = decades([...shown.map(({ it }) => intensityOf(it)), ...ridges]);
    const measured = shown.filter(({ it }) => it.measured).map(({ it }) => it.flops / it.measured);
    const [bottom, top] = decades([...shown.map(rate), ...measured, ...roofs.map(([, most]) => most), bandwidth * 10 ** left]);
    const x = (value) => LEFT + ((WIDTH - LEFT - RIGHT) * (Math.log10(value) - left)) / Math.max(right - left, 1);
    const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (Math.log10(value) - bottom)) / Math.max(top - bottom, 1);
    const at = (value) => value.toFixed(1);
    const powers = (from, to, room, wide) => {
      const every = Math.ceil(((to - from) * wide) / room) || 1;
      return Array.from({ length: to - from + 1 }, (_, n) => from + n).filter((power) => (to - power) % every === 0);
    };
    const labels = new Labels();
    const highest = Math.max(...roofs.map(([, most]) => most), bandwidth * 10 ** left);
    const [start, end] = [10 ** left, Math.min(highest / bandwidth, 10 ** right)];
    const ticks = [
      ...powers(left, right, WIDTH - LEFT - RIGHT, 44).map((power) =>
        drawn("g", { class: "tick" }, drawn("path", { d: `M${at(x(10 ** power))} ${TOP}V${HEIGHT - BOTTOM}` }),
          labels.put(amount(10 ** power), [[Math.min(x(10 ** power), WIDTH - 3.5 * LETTER), HEIGHT - BOTTOM + 13]], "middle")),
      ),
      ...powers(bottom, top, HEIGHT - TOP - BOTTOM, 28).map((power) =>
        drawn("g", { class: "tick" }, drawn("path", { d: `M${LEFT} ${at(y(10 ** power))}H${WIDTH - RIGHT}` }),
          labels.put(`${amount(10 ** power)}/s`, [[LEFT - 3, y(10 ** power) + 4]], "end")),
      ),
      labels.put("operations per byte of main memory", [[WIDTH - RIGHT, HEIGHT - 5]], "end"),
      labels.put("model: operations per second, at most", [[0, 10]], "start"),
    ];
    // The positions of dots are fixed, so reserve their space before placing the labels.
    const middles = shown.map(({ it }) => [x(intensityOf(it)), y(it.flops / it.seconds)]);
    for (const [across, down] of middles) labels.taken.push([across - RADIUS, down - RADIUS, across + RADIUS, down + RADIUS]);
    const isAlone = (n) => middles.slice(n + 1).every(([across, down]) => Math.hypot(across - middles[n][0], down - middles[n][1]) > 2 * RADIUS);
    const lines = [...roofs].sort((a, b) => b[1] - a[1]).map(([name, most]) => {
      const heights = [0, 40, 80].flatMap((back) => [-4, 13, 26, 40, 54].map((down) => [WIDTH - RIGHT - back, y(most) + down]));
      return drawn("g", { class: "roof" }, drawn("path", { d: `M${at(x(Math.max(most / bandwidth, start)))} ${at(y(most))}H${WIDTH - RIGHT}` }),
        labels.put(`${name}, ${amount(most)}/s`, heights, "end"));
    });
    const along = (part) => [start ** (1 - part) * end ** part].map((value) => [x(value), y(bandwidth * value)])[0];
    const beside = [0.5, 0.35, 0.65, 0.2, 0.8, 0].map(along).flatMap(([across, down]) => [[across + 8, down + 13], [across + 24, down + 13]]);
    const slope = [
      drawn("path", { class: "memory", d: `M${along(0).map(at).join(" ")}L${along(1).map(at).join(" ")}` }),
      labels.put(`memory, ${amount(bandwidth)}B/s`, beside, "start", { class: "slope" }),
    ];
    const dots = shown.map(({ it, number }, n) => {
      const place = placesOf(it)[0] ?? -1;
      const press = () => choose(place === state.place ? -1 : place);
      const [cx, cy] = middles[n].map(at);
      const reached = it.measured && at(y(it.flops / it.measured));
      const onKey = (event) => {
        if (![" ", "Enter"].includes(event.key)) return;
        event.preventDefault();
        press();
      };
      return drawn(
        "g",
        {
          class: `dot stop ${it.sort}`,
          role: "button",
          tabindex: -1,
          "aria-label": say(it),
          "aria-pressed": String(place >= 0 && place === state.place),
          "data-places": placesOf(it).join(" "),
          "data-said": say(it),
          "data-launch": number,
          on: { click: press, keydown: onKey, focus: tell },
        },
        drawn("title", {}, say(it)),
        it.measured ? drawn("path", { class: "measured", d: `M${cx} ${cy}V${reached}` }) : "",
        it.measured ? drawn("circle", { class: "measured", cx, cy: reached, r: 3.5 }) : "",
        drawn("circle", { cx, cy, r: RADIUS }),
        isAlone(n) ? drawn("text", { x: cx, y: at(middles[n][1] + 3.6), class: "letter", "text-anchor": "middle", "aria-hidden": "true" }, letterOf(it.sort)) : "",
      );
    });
    return drawn(
      "svg",
      { class: "roofline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Roofline of a model: operations per second over operations per byte, on logarithmic scales" },
      ...ticks, ...slope, ...lines, ...dots,
    );
  };

  Object.assign(globalThis.xlaExplorer, { roofline, short, amount, bytes, time, range, bytesOf, intensityOf, placesOf, say });
}
