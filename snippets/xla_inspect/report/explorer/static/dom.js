// Helpers that create elements and format lines and numbers. Compiler output is inserted only as text, never as HTML.
"use strict";
{
  const SVG = "http://www.w3.org/2000/svg";
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

  const fill = (made, attributes, children) => {
    for (const [key, value] of Object.entries(attributes)) {
      if (value === false || value === undefined || value === null) continue;
      if (key === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  };
  const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const drawn = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

  // Return the CSS declaration of the color of a line of Python. `source_pane.js` assigns the colors.
  const hue = (place) => (place < 0 ? undefined : `--mark: var(--place-${place})`);

  // Create a line of a listing: a button if it has a line of Python or if `always` is set, otherwise a span.
  const line = (text, place, state, { kind = "", label, instruction, always = false } = {}) => {
    const chosen = place >= 0 || always;
    return element(
      chosen ? "button" : "span",
      {
        class: ["line", kind, place >= 0 && place === state.place ? "lit" : ""].filter(Boolean).join(" "),
        style: hue(place),
        type: chosen && "button",
        tabindex: chosen && "-1",
        "data-place": place,
        "data-instruction": instruction,
        "aria-pressed": place >= 0 && String(place === state.place),
      },
      label ? element("span", { class: "hidden" }, `${label}: `) : "",
      ...(Array.isArray(text) && text.length ? text : [Array.isArray(text) || !text ? " " : text]),
    );
  };

  const size = (bytes) => {
    let [value, unit] = [bytes, 0];
    while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
    return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
  };
  const whole = (number) => number.toLocaleString("en");
  const count = (number, noun, many = `${noun}s`) => `${whole(number)} ${number === 1 ? noun : many}`;

  // Format a fraction. The result is 0% only for exactly zero and 100% only for exactly one.
  const percent = (share) => (share > 0 && share < 0.01 ? "<1%" : share < 1 && share > 0.99 ? ">99%" : `${Math.round(100 * share)}%`);

  // Load the scripts that are not needed at first. A page that loads such scripts later replaces this function.
  const more = async () => {};

  Object.assign((globalThis.xlaExplorer ??= {}), { element, drawn, hue, line, size, whole, count, percent, views: {}, more });
}
