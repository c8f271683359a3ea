// The area on which a user drops a dump, or chooses it: a folder, files, or an archive.
import { button, element } from "./elements.js"

const MOST = 200_000 // files, the limit of the reader

// List the dropped files, including those in dropped folders, each with its path.
const listDropped = async (transfer) => {
  const found = []
  const visit = async (entry) => {
    if (found.length > MOST) return
    if (entry.isFile) {
      const file = await new Promise((done, failed) => entry.file(done, failed)).catch(() => null)
      if (file) found.push({ name: entry.fullPath.replace(/^\//, ""), file })
      return
    }
    const reader = entry.createReader()
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed)).catch(() => [])
      if (!some.length) return
      for (const each of some) await visit(each)
    }
  }
  // Entries are valid only until the event ends, so collect all of them before the first `await`.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean)
  if (!entries.length) return listFiles(transfer.files)
  for (const entry of entries) await visit(entry)
  return found
}

const listFiles = (files) => [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }))

export class DropZone {
  // `take` receives `[{ name, file }]`; `expect` is called when the user is about to choose.
  constructor(take, expect) {
    Object.assign(this, { take, expect })
    const choose = (input) => () => input.click()
    const input = (properties) => {
      const on = { change: (event) => this.receive(listFiles(event.target.files), event.target) }
      return element("input", { type: "file", hidden: true, multiple: true, on, ...properties })
    }
    this.folder = input({ webkitdirectory: true, name: "folder" })
    this.files = input({ name: "files" })
    this.said = element("p", {}, "Drop a dump, a profile or other files of XLA here, as a folder, files or an archive.")
    this.root = element(
      "div",
      { className: "drop-zone", attributes: { role: "group", "aria-label": "Choose a dump" } },
      this.said,
      element(
        "p",
        { className: "choices" },
        button("Choose a folder", choose(this.folder)),
        button("Choose files", choose(this.files)),
      ),
      this.folder,
      this.files,
    )
    for (const event of ["pointerenter", "focusin", "touchstart"])
      this.root.addEventListener(event, () => this.expect(), { once: true, passive: true })
    this.listen()
  }

  // Accept files dropped anywhere on the page, because the browser would otherwise open them and leave the page.
  listen() {
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files")
    let depth = 0
    const mark = () => this.root.classList.toggle("over", depth > 0)
    addEventListener("dragenter", (event) => {
      if (!hasFiles(event)) return
      depth += 1
      this.expect()
      mark()
    })
    addEventListener("dragleave", (event) => {
      if (!hasFiles(event)) return
      depth = Math.max(depth - 1, 0)
      mark()
    })
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault())
    addEventListener("drop", async (event) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      depth = 0
      mark()
      this.receive(await listDropped(event.dataTransfer))
    })
  }

  receive(found, input) {
    this.take(found)
    if (input) input.value = "" // so that the user can choose the same files again
  }
}
