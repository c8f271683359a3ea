// Offers each explorer of a page as a button; its script and its data are fetched when it is pressed, or when the
// address asks for it.
const home = document.currentScript.src.replace(/[^/]*$/, "explorer/")
const scripts = new Map()

// Fetch a script once; one that did not come is asked for again the next time.
const load = (name) => {
  if (!scripts.has(name))
    scripts.set(
      name,
      new Promise((done, failed) => {
        const tag = Object.assign(document.createElement("script"), { src: home + name, async: false, onload: done })
        tag.onerror = () => {
          scripts.delete(name)
          tag.remove()
          failed(new Error(`${name} did not come`))
        }
        document.head.append(tag)
      }),
    )
  return scripts.get(name)
}

const fetchText = async (name) => {
  const answer = await fetch(home + name)
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`)
  return answer
}

// While it loads, the theme may put the section that scrolls by into the address; what was asked for is put back.
async function open(root, asked = "") {
  if (root.shadowRoot) return
  const { explorer: id, captures, scripts: names, style, state } = root.dataset
  const offered = JSON.parse(captures).map(({ target, title, src, details }) => ({
    target,
    title,
    load: async () => (await fetchText(src)).json(),
    loadDetails: details ? async () => (await fetchText(details)).json() : null,
  }))
  const said = root.querySelector("[role=status]")
  said.textContent = "Loading …"
  try {
    const [css] = await Promise.all([fetchText(style).then((answer) => answer.text()), ...JSON.parse(names).map(load)])
    const { Explorer } = globalThis.xlaExplorer
    const rules = Object.assign(document.createElement("style"), { textContent: css })
    const hadFocus = root.contains(document.activeElement)
    const explorer = new Explorer(root, id, offered, rules)
    if (asked && location.hash !== asked) history.replaceState(history.state, "", asked)
    await explorer.start(JSON.parse(state))
    if (hadFocus) explorer.shadow.querySelector("input:checked")?.focus({ preventScroll: true })
  } catch (error) {
    said.textContent =
      location.protocol === "file:"
        ? "It needs a server: run `scripts/serve`, since a browser fetches nothing for a page that is opened as a file."
        : `It did not open (${error.message}). Check the connection, then press the button again.`
  }
}

const isAsked = (root) => new URLSearchParams(location.hash.slice(1)).get("x") === root.dataset.explorer
const answer = (root) => isAsked(root) && open(root, location.hash).then(() => root.scrollIntoView())

for (const root of document.querySelectorAll("[data-explorer]")) {
  if (root.dataset.captures === "[]") continue
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    textContent: "Open the explorer",
  })
  button.addEventListener("click", () => open(root))
  const said = document.createElement("span")
  said.setAttribute("role", "status")
  root.querySelector(".offer").append(" ", button, " ", said)
  answer(root)
  addEventListener("hashchange", () => answer(root))
}
