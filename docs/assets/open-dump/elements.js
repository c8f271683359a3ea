// Helpers that create the page's elements. Content of a dump is only set as text; an answer of the reader, which escapes
// such content, is parsed as HTML with a short list of allowed elements.
const KNOWN = new Set(["div", "p", "code", "table", "caption", "thead", "tbody", "tr", "th", "td"])

export const element = (name, properties = {}, ...children) => {
  const { on = {}, attributes = {}, ...others } = properties
  const made = Object.assign(document.createElement(name), others)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  for (const [event, handler] of Object.entries(on)) made.addEventListener(event, handler)
  made.append(...children)
  return made
}

export const button = (text, click, properties = {}) =>
  element("button", { type: "button", on: { click }, ...properties }, text)

export const readAnswer = (html) => {
  const body = new DOMParser().parseFromString(html, "text/html").body
  for (const each of body.querySelectorAll("*")) {
    if (!KNOWN.has(each.localName)) each.replaceWith(each.textContent)
    else for (const { name } of [...each.attributes]) if (name !== "class") each.removeAttribute(name)
  }
  // An empty header cell is not a header.
  for (const head of body.querySelectorAll("th:empty")) head.replaceWith(document.createElement("td"))
  for (const table of body.querySelectorAll("table")) {
    const attributes = { tabindex: "0", role: "group", "aria-label": table.caption?.textContent ?? "Table" }
    const wide = element("div", { className: "wide", attributes })
    table.replaceWith(wide)
    wide.append(table)
  }
  return [...body.childNodes]
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]
export const size = (bytes) => {
  let [value, unit] = [bytes, 0]
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1]
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}
export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`
