// Show the meaning of a linked term on hover and focus, in one sentence from a file that is fetched once. A tap shows it
// at the bottom of the window, with the link. Without this script a term is a link to its entry.
const script = document.currentScript.src
const root = new URL("..", script)
const DELAY = 200 // milliseconds before the tip of a hovered term appears, and before it disappears
let sentences
let tip
let shownFor
let waits
let byTouch = false

const fetchSentences = () => (sentences ??= fetch(new URL("terms.json", script)).then((answer) => (answer.ok ? answer.json() : {})).catch(() => ({})))

const termOf = (target) => target.closest?.("a.term")

function makeTip() {
  tip = document.createElement("div")
  tip.id = "term-tip"
  tip.className = "term-tip"
  tip.setAttribute("role", "tooltip")
  tip.hidden = true
  tip.addEventListener("pointerenter", () => clearTimeout(waits))
  tip.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && hideSoon())
  ;(document.querySelector("main") ?? document.body).append(tip)
}

function put(link) {
  if (tip.classList.contains("sheet")) {
    tip.style.left = tip.style.top = ""
    return
  }
  // A link may span two lines: place the tip at the first.
  const place = link.getClientRects()[0]
  tip.style.left = tip.style.top = "0"
  const { width, height } = tip.getBoundingClientRect()
  const left = Math.max(8, Math.min(place.left, document.documentElement.clientWidth - width - 8))
  const above = place.top - height - 4
  const header = document.querySelector(".md-header")?.offsetHeight ?? 0
  const origin = (tip.offsetParent ?? document.documentElement).getBoundingClientRect()
  tip.style.left = `${left - origin.left}px`
  tip.style.top = `${(above > header ? above : place.bottom + 4) - origin.top}px`
}

async function show(link, asSheet = false) {
  clearTimeout(waits)
  if (shownFor === link && tip && !tip.hidden) return
  const wanted = (shownFor = link)
  const found = (await fetchSentences())[link.href.slice(root.href.length)]
  if (shownFor !== wanted) return
  if (!found) {
    if (asSheet) location.assign(link.href)
    return
  }
  if (!tip) makeTip()
  const name = document.createElement("b")
  name.textContent = found[0]
  tip.replaceChildren(name, ` ${found[1]}`)
  tip.classList.toggle("sheet", asSheet)
  if (asSheet) {
    const more = document.createElement("a")
    more.href = link.href
    more.textContent = "Read the glossary entry"
    tip.append(" ", more)
  }
  tip.hidden = false
  link.setAttribute("aria-describedby", tip.id)
  put(link)
}

function hide() {
  clearTimeout(waits)
  shownFor?.removeAttribute("aria-describedby")
  shownFor = undefined
  if (tip) tip.hidden = true
}

function hideSoon() {
  clearTimeout(waits)
  waits = setTimeout(() => shownFor !== document.activeElement && hide(), DELAY)
}

if (document.querySelector("a.term")) {
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    const link = pointerType !== "touch" && termOf(target)
    if (!link) return
    fetchSentences()
    clearTimeout(waits)
    if (shownFor === link) return
    waits = setTimeout(() => {
      hide()
      show(link)
    }, DELAY)
  })
  document.addEventListener("pointerout", ({ target, pointerType }) => pointerType !== "touch" && termOf(target) && hideSoon())
  document.addEventListener("pointerdown", ({ target, pointerType }) => {
    byTouch = pointerType === "touch"
    if (tip && !tip.hidden && !tip.contains(target) && termOf(target) !== shownFor) hide()
  })
  document.addEventListener("click", (event) => {
    const link = termOf(event.target)
    // A second tap, or a tap while the sheet is open, follows the link.
    if (!link || !byTouch || (shownFor === link && tip && !tip.hidden && tip.classList.contains("sheet"))) return
    event.preventDefault()
    if (shownFor === link) hide()
    show(link, true)
  })
  document.addEventListener("focusin", ({ target }) => {
    const link = termOf(target)
    if (link && !byTouch && link.matches(":focus-visible")) show(link)
  })
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (termOf(target) === shownFor && shownFor && !tip?.contains(relatedTarget) && !tip?.classList.contains("sheet")) hide()
  })
  document.addEventListener("keydown", ({ key }) => {
    byTouch = false
    if (key === "Escape" && shownFor) hide()
  })
  addEventListener("resize", () => shownFor && tip && !tip.hidden && put(shownFor))
}
