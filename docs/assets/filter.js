// Add a box that filters a list of opcodes, passes or claims as the user types. Enter moves to the first match, and
// Escape clears the box. Without this script the page shows the whole list.
const kinds = {
  passes: { lists: ".passes", read: "summary, .where", enter: "summary", hint: "fusion, layout assignment, H100 ..." },
  opcodes: { lists: ".opcodes", read: "summary, p:first-of-type", enter: "summary", hint: "dot, lax.psum, communication, H100 ..." },
  claims: { lists: "ul:has(> .entry)", read: ".verdict, .claim, .case, .truth", enter: "a", hint: "fusion, false, H100, donated ..." },
}
const noun = Object.keys(kinds).find((name) => document.querySelector(kinds[name].lists))
const kind = kinds[noun]
const lists = kind ? [...document.querySelectorAll(kind.lists)] : []

// Return a list with everything between it and its heading, including the fold that contains it.
function sectionOf(list) {
  const section = [list]
  while (!/^H\d$/.test(section.at(-1).tagName)) {
    const last = section.at(-1)
    const next = last.previousElementSibling ?? last.closest("details")
    if (!next || section.includes(next)) break
    section.push(next)
  }
  return section
}

function offerFilter() {
  const sections = lists.map(sectionOf)
  const rows = sections.flatMap((section) => {
    const [list, heading] = [section[0], section.at(-1)]
    return [...list.children].map((row) => {
      const said = [heading, ...row.querySelectorAll(kind.read)].map((part) => part.textContent)
      return { row, text: said.join(" ").toLowerCase() }
    })
  })

  const form = document.createElement("form")
  const label = document.createElement("label")
  const box = document.createElement("input")
  const status = document.createElement("p")
  form.className = "filter"
  form.setAttribute("role", "search")
  label.htmlFor = box.id = `filter-${noun}`
  label.textContent = "Filter"
  box.type = "search"
  box.placeholder = kind.hint
  box.autocomplete = "off"
  status.setAttribute("role", "status")
  form.append(label, box, status)
  sections[0].at(-1).before(form)

  const opened = new Set()
  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const { row, text } of rows) row.hidden = !words.every((word) => text.includes(word))
    const matching = sections.filter(([list]) => [...list.children].some((row) => !row.hidden))
    // Two lists may share a heading, which stays visible as long as one of the lists has a match.
    const visible = new Set(matching.flat())
    for (const part of sections.flat()) part.hidden = !visible.has(part)
    for (const [list] of matching) {
      // Open a fold that contains a match; a fold that the reader opened stays open.
      const fold = list.closest("details")
      if (fold && words.length && !fold.open) {
        fold.open = true
        opened.add(fold)
      }
      if (!words.length && opened.delete(fold)) fold.open = false
    }
    const left = rows.filter(({ row }) => !row.hidden)
    status.textContent = words.length ? `${left.length} of ${rows.length} ${noun}` : ""
    return left
  }

  function clear() {
    box.value = ""
    filter()
  }

  box.addEventListener("input", filter)
  box.addEventListener("keydown", (event) => event.key === "Escape" && clear())
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    filter()[0]?.row.querySelector(kind.enter).focus()
  })
  // Show the row that a link leads to, even if the filter or a fold hides it.
  function reveal() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (row?.closest("[hidden]")) clear()
    const fold = rows.some((each) => each.row === row) && row.parentElement.closest("details")
    if (!fold || fold.open) return
    fold.open = true
    row.scrollIntoView()
  }
  addEventListener("hashchange", reveal)
  reveal()
}

if (lists.length) offerFilter()
