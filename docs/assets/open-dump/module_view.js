// The view of an opened module: its explorer, and the answers to the tool's questions about it.
import { button, element, readAnswer } from "./elements.js"
import { Stopped } from "./reader.js"

const LARGE = 2 ** 20 // bytes; a larger module shows its summary first, because the explorer's data takes longest

const readJson = (bytes) => JSON.parse(new TextDecoder().decode(bytes))

export class ModuleView {
  // `reader` has read the module; `work(promise, text)` shows progress; `panels` lists the questions with their titles.
  constructor(reader, work, panels) {
    this.views = [["explorer", "Explorer"], ...panels]
    Object.assign(this, { reader, work, parts: reader.parts })
    this.title = element("h2", { tabIndex: -1 })
    this.missing = element("details", { className: "missing" })
    this.tabs = this.views.map(([name, label]) =>
      button(label, () => this.show((this.chosen = name)), {
        id: `dump-tab-${name}`,
        attributes: { role: "tab", "aria-controls": `dump-panel-${name}` },
      }),
    )
    this.panels = this.views.map(([name]) =>
      element("div", {
        id: `dump-panel-${name}`,
        hidden: true,
        attributes: { role: "tabpanel", "aria-labelledby": `dump-tab-${name}` },
      }),
    )
    const list = element("div", { className: "views", attributes: { role: "tablist", "aria-label": "Views of the module" } }, ...this.tabs)
    list.addEventListener("keydown", (event) => this.onKey(event))
    this.root = element("div", { className: "module" }, this.title, this.missing, list, ...this.panels)
  }

  async read(module) {
    const missing = await this.work(this.reader.ask("read", { number: module.number }), `Reading ${module.key}`)
    Object.assign(this, { module, data: null, answered: new Set(), turn: this.reader.turn })
    this.title.textContent = module.key
    this.missing.replaceChildren(element("summary", {}, "Information that these files lack"), element("p", {}, missing))
    this.missing.hidden = !missing
    for (const panel of this.panels.slice(1)) panel.replaceChildren()
  }

  // Show the module in the view that the user last chose; a memory plan alone has one view.
  async start() {
    this.title.focus({ preventScroll: true })
    const { bytes, stage } = this.module
    await this.show(stage === "none" ? "memory" : (this.chosen ?? (bytes > LARGE ? "summary" : "explorer")))
  }

  async show(name) {
    this.views.forEach(([each], at) => {
      const isShown = each === name
      this.tabs[at].setAttribute("aria-selected", String(isShown))
      this.tabs[at].tabIndex = isShown ? 0 : -1
      this.panels[at].hidden = !isShown
    })
    if (this.answered.has(name)) return
    this.answered.add(name)
    const panel = this.panels[this.views.findIndex(([each]) => each === name)]
    try {
      if (name === "explorer") await this.explore(panel)
      else await this.answer(panel, name)
    } catch (error) {
      this.answered.delete(name)
      const said = error instanceof Stopped ? "Stopped. Choose the view again to restart it." : error.message
      panel.replaceChildren(element("p", { className: "refused", attributes: { role: "alert" } }, said))
    }
  }

  // Ask about the module. A restarted reader has to read it again first.
  async ask(act, asked) {
    if (this.turn !== this.reader.turn) {
      await this.reader.ask("read", { number: this.module.number })
      this.turn = this.reader.turn
    }
    return this.reader.ask(act, asked)
  }

  async answer(panel, question) {
    const { answer, missing } = await this.work(this.ask("answer", { question }), "Computing the answer")
    panel.replaceChildren(...readAnswer(answer), element("p", { className: "missing", hidden: !missing }, missing))
  }

  // Reuse one explorer for all modules, so that it keeps the user's place where the new module allows it.
  async explore(panel) {
    const { key, target } = this.module
    const data = (this.data ??= readJson(await this.work(this.ask("explorer"), "Preparing the passes and graphs")))
    const loadDetails = async () => readJson(await this.ask("details"))
    const offer = { program: key, programTitle: key, target: data.target, title: target, load: async () => data, loadDetails }
    if (this.explorer) {
      panel.replaceChildren(this.explorer.root)
      return this.explorer.offer([offer], { current: { program: key, target: data.target } })
    }
    const style = await globalThis.loadExplorer(this.parts.explorer, this.parts.style)
    const { Explorer } = globalThis.xlaExplorer
    const root = element("div", { className: "explorer", id: "explorer-dump" })
    panel.replaceChildren(root)
    const noSource = !data.sources.some(([, lines]) => lines.length) // a dump records the paths of source files, but not their text
    this.explorer = new Explorer(root, "dump", [offer], style, { noSource })
    await this.explorer.start({ program: key, target: data.target })
    if (this.explorer.model && !location.hash.includes("pass=")) await this.explorer.show({ pass: this.explorer.first.findFusion() })
  }

  onKey(event) {
    const at = this.tabs.indexOf(document.activeElement)
    const step = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.tabs.length - 1 }[event.key]
    if (at < 0 || step === undefined) return
    event.preventDefault()
    const next = (step + this.tabs.length) % this.tabs.length
    this.tabs[next].focus()
    this.show((this.chosen = this.views[next][0]))
  }
}
