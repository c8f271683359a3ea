// Open the explorers of a page. A closed explorer shows a picture and a button; its scripts and data are fetched when
// the user presses the button, or when the address selects it. The explorer of all recorded programs opens automatically.
const home = document.currentScript.src.replace(/[^/]*$/, "explorer/")
const scripts = new Map()
const AGAIN = "Check the connection."
const NO_SERVER = "The explorer needs a server: run `scripts/serve`, because a browser does not fetch data for a page opened as a file."

// Fetch each script once; if that fails, the next call tries again.
const load = (name) => {
  if (!scripts.has(name))
    scripts.set(
      name,
      new Promise((done, failed) => {
        const tag = Object.assign(document.createElement("script"), { src: home + name, async: false, onload: done })
        tag.onerror = () => {
          scripts.delete(name)
          tag.remove()
          failed(new Error(`${name} could not be loaded`))
        }
        document.head.append(tag)
      }),
    )
  return scripts.get(name)
}

const fetchFile = async (name) => {
  const answer = await fetch(home + name)
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`)
  return answer
}

// Load the scripts and the style of an explorer. Code that the first view does not need is loaded later.
const loadExplorer = async ([first, later], style) => {
  const [css] = await Promise.all([fetchFile(style).then((answer) => answer.text()), load(first)])
  globalThis.xlaExplorer.more = () => load(later)
  return Object.assign(document.createElement("style"), { textContent: css })
}
globalThis.loadExplorer = loadExplorer // for a page that opens an explorer itself

// Return the captures that an explorer of one program can show.
const offerCaptures = ({ captures }) =>
  JSON.parse(captures).map(({ target, title, src, details, size }) => ({
    target,
    title,
    load: (tell) => globalThis.xlaExplorer.fetchData(home + src, { title, size, tell }),
    loadDetails: details ? () => globalThis.xlaExplorer.fetchData(home + details) : null,
  }))

// Return the captures of all recorded programs, through a class that takes the place of the compiler.
const offerRecorded = async ({ index }) => {
  const compiler = new globalThis.xlaExplorer.RecordedCompiler(await (await fetchFile(index)).json(), home)
  const programs = await compiler.programs()
  return (await Promise.all(programs.map((each) => compiler.send(each)))).flat()
}

const readId = () => new URLSearchParams(location.hash.slice(1)).get("x")

// Old links have the program's name where new links have the explorer's name: rewrite them.
const readOldLink = (root, offers) => {
  const fields = new URLSearchParams(location.hash.slice(1))
  const program = fields.get("x")
  if (program === root.dataset.explorer || !offers.some((it) => it.program === program)) return false
  fields.delete("x")
  const link = new URLSearchParams([["x", root.dataset.explorer], ["program", program], ...fields])
  history.replaceState(history.state, "", `#${link.toString().replaceAll("%2F", "/").replaceAll("%3A", ":")}`)
  return true
}

// While the explorer loads, the theme may replace the address by the visible section's, so restore the requested address.
async function open(root, asked = "") {
  if (root.shadowRoot) return
  const { explorer: id, index, scripts: names, style, state } = root.dataset
  const said = root.querySelector("[role=status]")
  const [button] = root.querySelectorAll("button")
  said.textContent = "Loading the explorer …"
  try {
    const look = await loadExplorer(JSON.parse(names), style)
    const offers = await (index ? offerRecorded : offerCaptures)(root.dataset)
    const { Explorer } = globalThis.xlaExplorer
    if (root.shadowRoot) return
    const hadFocus = root.contains(document.activeElement)
    const poster = root.querySelector(".poster")
    const explorer = new Explorer(root, id, offers, look)
    // Keep the picture for printing.
    if (poster && !index) root.before(Object.assign(document.createElement("p"), { className: "offer printed" }))
    if (poster && !index) root.previousElementSibling.append(poster)
    if (asked && location.hash !== asked) history.replaceState(history.state, "", asked)
    if (index) {
      readOldLink(root, offers)
      addEventListener("hashchange", () => readOldLink(root, offers) && explorer.follow())
    }
    await explorer.start(JSON.parse(state))
    if (hadFocus) explorer.shadow.querySelector("select:not([hidden]), input:checked")?.focus({ preventScroll: true })
  } catch (error) {
    said.textContent = location.protocol === "file:" ? NO_SERVER : `The explorer did not open (${error.message}). ${AGAIN}`
    Object.assign(button, { hidden: false, textContent: "Try again" })
  }
}

for (const root of document.querySelectorAll("[data-explorer]")) {
  if (root.dataset.captures === "[]") continue
  const isWhole = "index" in root.dataset
  const button = Object.assign(document.createElement("button"), { type: "button", hidden: isWhole })
  const about = Object.assign(document.createElement("span"), { className: "unseen", textContent: " the explorer" })
  button.append("Open", about)
  button.addEventListener("click", () => open(root))
  root.querySelector(".poster")?.addEventListener("click", () => open(root))
  const said = document.createElement("span")
  said.setAttribute("role", "status")
  root.querySelector(".offer").append(" ", button, " ", said)
  if (isWhole) {
    root.classList.add("whole")
    open(root, location.hash)
    continue
  }
  const answer = () => readId() === root.dataset.explorer && open(root, location.hash).then(() => root.scrollIntoView())
  answer()
  addEventListener("hashchange", answer)
}
