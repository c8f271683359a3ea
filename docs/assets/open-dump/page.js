// The page that opens a dump. The project's own reader reads the files in this browser and sends nothing.
import { DropZone } from "./drop_zone.js"
import { button, element, size } from "./elements.js"
import { ModuleTable } from "./module_table.js"
import { ModuleView } from "./module_view.js"
import { Reader, Stopped } from "./reader.js"

const HOME = new URL(".", import.meta.url).href
const ISSUE = "This is a bug in the reader; `xla-inspect read` on your machine may explain more."

class OpenDump {
  constructor(root) {
    Object.assign(this, { root, pending: 0 }) // number of operations in progress
    this.reader = new Reader(HOME, (told) => this.tell(told))
    this.zone = new DropZone((found) => this.take(found), () => this.load())
    this.said = element("p", { attributes: { role: "status" } })
    this.bar = element("progress", { hidden: true, attributes: { "aria-label": "Progress" } })
    this.cancel = button("Cancel", () => this.stop(), { hidden: true })
    this.refused = element("div", { className: "refused", hidden: true, attributes: { role: "alert" } })
    this.shown = element("div", { className: "shown" })
    this.far = element("span") // outside the status that screen readers announce, because it changes more often
    const line = element("div", { className: "working" }, this.said, this.far, this.bar, this.cancel)
    root.replaceChildren(this.zone.root, line, this.refused, this.shown)
  }

  // Load the reader while the user is still choosing files.
  async load() {
    if (this.reader.started) return
    await this.work(this.reader.start(), "Loading the reader").then(
      () => (this.said.textContent ||= "The reader is ready."),
      (error) => this.refuse(error),
    )
  }

  async take(found) {
    this.refused.hidden = true
    if (!found.length) return this.refuse(new Error("There is no file in this folder. Choose the folder that you set with --xla_dump_to."))
    // The user has replaced the previous dump, so stop any work on it.
    if (this.taken && this.reader.isBusy) this.reader.stop()
    this.taken = found
    this.shown.replaceChildren()
    try {
      const dump = await this.work(this.reader.open(found), "Reading file names and headers")
      if (this.taken !== found) return
      this.panels = dump.panels
      this.table = new ModuleTable(dump, (module) => this.open(module))
      this.said.textContent = ""
      this.back()
      if (dump.modules.length === 1) await this.open(dump.modules[0])
    } catch (error) {
      if (this.taken === found) this.refuse(error)
    }
  }

  async open(module) {
    const { taken } = this
    this.refused.hidden = true
    this.view ??= new ModuleView(this.reader, (promise, text) => this.work(promise, text), this.panels)
    const { view } = this
    try {
      await view.read(module)
      if (this.taken !== taken) return
      const back = () => {
        this.back()
        this.table.focus(module)
      }
      const leftOut = this.table.modules.length > 1 ? [] : this.table.leftOut // a single module opens without the table
      this.shown.replaceChildren(button("← All modules", back, { className: "back" }), ...leftOut, view.root)
      await view.start()
    } catch (error) {
      this.refuse(error)
    }
  }

  back() {
    this.shown.replaceChildren(this.table.root, ...this.table.leftOut)
  }

  // Show progress until the operation ends.
  async work(promise, text) {
    this.pending += 1
    this.tell({ text })
    this.cancel.hidden = false
    try {
      return await promise
    } finally {
      this.pending -= 1
      if (!this.pending) {
        if (document.activeElement === this.cancel) this.zone.root.querySelector("button").focus()
        this.said.textContent = this.far.textContent = ""
        this.bar.hidden = this.cancel.hidden = true
      }
    }
  }

  tell({ text, done, total }) {
    if (this.said.textContent !== `${text} …`) this.said.textContent = `${text} …`
    this.far.textContent = total ? `${size(done)} of ${size(total)}` : ""
    this.bar.hidden = false
    if (total) Object.assign(this.bar, { max: total, value: done })
    else this.bar.removeAttribute("value")
  }

  stop() {
    this.reader.stop()
  }

  refuse(error) {
    if (error instanceof Stopped) {
      if (!this.pending) this.said.textContent = "Stopped."
      return
    }
    const fault = error.isFault ? [element("p", {}, ISSUE), element("pre", {}, error.trace)] : []
    this.refused.replaceChildren(element("p", {}, error.message), ...fault)
    this.refused.hidden = false
  }
}

const root = document.querySelector("[data-open-dump]")
if (root) globalThis.openDump = new OpenDump(root)
