// The table of the modules in a dump, from which the user opens one.
import { button, count, element, size } from "./elements.js"

const MOST = 500 // rows in the table
const FEW = 3 // files
const COLUMNS = [
  ["name", "module"],
  ["target", "target"],
  ["passes", "passes"],
  ["bytes", "size"],
  ["kernels", "kernels"],
  ["stage", "stage"],
]
const NUMBERS = new Set(["passes", "bytes", "kernels"])

const show = {
  name: ({ key }) => key,
  target: ({ target }) => target,
  passes: ({ passes }) => passes.toLocaleString("en"),
  bytes: ({ bytes }) => size(bytes),
  kernels: ({ kernels }) => (kernels === null ? "unknown" : kernels.toLocaleString("en")),
  stage: ({ stage }) => stage,
}

export class ModuleTable {
  // `open` receives the module whose button the user pressed.
  constructor({ title, bytes, modules, leftOut }, open) {
    modules.forEach((module, number) => Object.assign(module, { number }))
    Object.assign(this, { modules, open, order: null, isDown: false })
    this.box = element("input", { type: "search", id: "filter-modules", autocomplete: "off", on: { input: () => this.draw() } })
    this.said = element("p", { attributes: { role: "status" } })
    this.body = element("tbody")
    this.heads = COLUMNS.map(([name, label]) => {
      const properties = { className: NUMBERS.has(name) ? "number" : "", attributes: { scope: "col" } }
      return element("th", properties, button(label, () => this.sort(name)))
    })
    const caption = `${title}: ${count(modules.length, "module")}, ${size(bytes)}`
    const label = element("label", { htmlFor: this.box.id }, "Filter")
    const form = element("form", { className: "filter", attributes: { role: "search" } }, label, this.box, this.said)
    form.addEventListener("submit", (event) => event.preventDefault())
    const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...this.heads)), this.body)
    const wide = element("div", { className: "wide", attributes: { tabindex: "0", role: "group", "aria-label": "Modules" } }, table)
    this.root = element("div", { className: "modules" }, ...(modules.length > 1 ? [form] : []), wide)
    this.leftOut = listLeftOut(leftOut)
    this.draw()
  }

  sort(name) {
    this.isDown = this.order === name ? !this.isDown : NUMBERS.has(name)
    this.order = name
    this.heads.forEach((head, at) => {
      if (COLUMNS[at][0] === name) head.setAttribute("aria-sort", this.isDown ? "descending" : "ascending")
      else head.removeAttribute("aria-sort")
    })
    this.draw()
  }

  draw() {
    const words = this.box.value.toLowerCase().split(/\s+/).filter(Boolean)
    const text = ({ key, target }) => `${key} ${target}`.toLowerCase()
    const left = this.modules.filter((it) => words.every((word) => text(it).includes(word)))
    if (this.order) left.sort((a, b) => (this.isDown ? -1 : 1) * this.compare(a, b))
    this.body.replaceChildren(...left.slice(0, MOST).map((it) => this.drawRow(it)))
    const more = left.length > MOST ? `; the table shows the first ${MOST}` : ""
    this.said.textContent = words.length || more ? `${left.length} of ${count(this.modules.length, "module")}${more}` : ""
  }

  compare(a, b) {
    if (NUMBERS.has(this.order)) return (a[this.order] ?? -1) - (b[this.order] ?? -1)
    const name = this.order === "name" ? "key" : this.order
    return a[name].localeCompare(b[name], "en", { numeric: true })
  }

  // Move the focus to the row of a module.
  focus({ number }) {
    this.body.querySelector(`[data-number="${number}"]`)?.focus()
  }

  drawRow(module) {
    const cells = COLUMNS.map(([name]) => {
      const text = show[name](module)
      const shown = name === "name" ? button(text, () => this.open(module), { attributes: { "data-number": module.number } }) : text
      return element("td", { className: NUMBERS.has(name) ? "number" : "" }, shown)
    })
    return element("tr", {}, ...cells)
  }
}

// List the files that are not read, each with the reason or the command that reads it; a short list is open.
const listLeftOut = (names) => {
  if (!names.length) return []
  const summary = element("summary", {}, `${count(names.length, "file")} not shown`)
  const rows = names.slice(0, MOST).map((name) => element("li", {}, name))
  return [element("details", { className: "left-out", open: names.length <= FEW }, summary, element("ul", {}, ...rows))]
}
