// Offers each explorer of a page as a button; its script and its data are fetched when it is pressed, or when the
// address asks for it.
const home = document.currentScript.src.replace(/[^/]*$/, "explorer/")

const once = (name) =>
  (once[name] ??= new Promise((done, failed) => {
    const tag = document.createElement(name.endsWith(".css") ? "link" : "script")
    Object.assign(tag, tag.tagName === "LINK" ? { rel: "stylesheet", href: home + name } : { src: home + name })
    tag.onload = done
    tag.onerror = () => failed(new Error(`${home}${name} could not be loaded`))
    document.head.append(tag)
  }))

async function open(root, wanted) {
  const id = root.dataset.explorer
  const captures = JSON.parse(root.dataset.captures).map(({ target, title, src }) => ({
    target,
    title,
    load: async () => {
      const answer = await fetch(home + src)
      if (!answer.ok) throw new Error(`${home}${src}: ${answer.status}`)
      return answer.json()
    },
  }))
  try {
    await once("explorer.css")
    for (const name of JSON.parse(root.dataset.scripts)) await once(name)
    const { Explorer, readLink } = globalThis.xlaExplorer
    await new Explorer(root, id, captures).start({ ...wanted, ...readLink(id) })
  } catch (error) {
    root.querySelector(".offer")?.append(` It could not be opened (${error.message}); reload the page to try again.`)
  }
}

for (const root of document.querySelectorAll("[data-explorer]")) {
  const wanted = JSON.parse(root.dataset.state)
  if (new URLSearchParams(location.hash.slice(1)).get("x") === root.dataset.explorer) {
    open(root, wanted).then(() => root.scrollIntoView())
    continue
  }
  if (root.dataset.captures === "[]") continue
  const button = document.createElement("button")
  button.type = "button"
  button.className = "md-button"
  button.textContent = "Step through the passes"
  button.addEventListener("click", () => open(root, wanted))
  root.querySelector(".offer").append(" ", button)
}
