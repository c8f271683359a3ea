// Turn the choices of a question into buttons, and store the guesses and the reading position in this browser.
// Nothing is sent anywhere. Without this script each choice is a fold, and only the count is missing.
const KEY = "reading"
const HERE = decodeURI(location.pathname.slice(__md_scope.pathname.length)).replace(/index\.html$/, "")
const questions = [...document.querySelectorAll(".predict")]
const heading = document.querySelector("article h1")
// Chapters show a reading time; the home page, lists and the error page do not.
const isChapter = heading && document.querySelector("article .reading-time, article .predict") !== null

// The stored data may come from another version of the site, or be missing if the browser stores nothing.
function readStored() {
  let kept
  try {
    kept = __md_get(KEY)
  } catch {}
  return { pages: {}, ...(typeof kept === "object" ? kept : {}) }
}

function write(change) {
  const kept = readStored()
  change(kept)
  try {
    __md_set(KEY, kept)
  } catch {}
}

const titleOf = (element) => [...element.childNodes].filter((node) => !node.matches?.(".headerlink")).map((node) => node.textContent).join("").trim()

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

// Return the first guess for each question of a page.
function listGuesses(kept, page = HERE) {
  return kept.pages[page]?.guesses ?? {}
}

function countGuesses() {
  const guesses = listGuesses(readStored())
  const made = questions.filter((question) => guesses[question.id]?.[0] === question.dataset.digest)
  const right = made.filter((question) => guesses[question.id][2])
  return made.length ? `${made.length} of ${questions.length} predicted, ${right.length} right` : ""
}

function showCounts() {
  const text = countGuesses()
  for (const count of document.querySelectorAll(".predict-count")) count.textContent = text
}

function offer(question) {
  const folds = [...question.querySelectorAll("details")]
  const told = make("div", { className: "predict-told" })
  told.setAttribute("role", "status")
  const buttons = folds.map((fold) => {
    const button = make("button", { type: "button" })
    button.append(...[...fold.querySelector("summary").childNodes].map((node) => node.cloneNode(true)))
    button.setAttribute("aria-pressed", "false")
    return button
  })
  const isRight = (place) => folds[place].querySelector("p").className === "right"

  function show(place) {
    buttons.forEach((button, other) => {
      button.setAttribute("aria-pressed", String(other === place))
      button.classList.toggle("key", isRight(other))
    })
    told.replaceChildren(folds[place].querySelector("p").cloneNode(true))
  }

  function remember(place) {
    write((kept) => {
      const page = (kept.pages[HERE] ??= {})
      page.guesses = { ...page.guesses, [question.id]: [question.dataset.digest, place, isRight(place)] }
    })
    buttons[place].classList.add("guess")
    showCounts()
  }

  const before = listGuesses(readStored())[question.id]
  if (before?.[0] === question.dataset.digest && buttons[before[1]]) {
    buttons[before[1]].classList.add("guess")
    show(before[1])
  }
  buttons.forEach((button, place) =>
    button.addEventListener("click", () => {
      show(place)
      if (!buttons.some((other) => other.classList.contains("guess"))) remember(place)
    }),
  )
  for (const fold of folds) fold.hidden = true
  question.append(make("div", { className: "predict-choices" }, ...buttons), told, make("p", { className: "predict-count" }))
  question.classList.add("on")
}

// Forget guesses for questions that were removed or changed.
function noteVisit() {
  write((kept) => {
    const page = (kept.pages[HERE] ??= {})
    const asked = questions.map((question) => [question.id, question.dataset.digest])
    const same = asked.filter(([id, digest]) => page.guesses?.[id]?.[0] === digest)
    page.guesses = Object.fromEntries(same.map(([id]) => [id, page.guesses[id]]))
    Object.assign(page, { title: titleOf(heading), asks: questions.length })
    kept.last = { page: HERE, at: "", section: "" }
  })
}

// Store the reading position, which is the last heading above the middle of the window. A page whose end is near counts
// as read.
function notePlace() {
  const headings = [...document.querySelectorAll("article h2[id]")]
  const last = headings.findLast((each) => each.getBoundingClientRect().top < innerHeight / 2)
  const end = document.querySelector("article").getBoundingClientRect().bottom
  write((kept) => {
    kept.last = { page: HERE, at: last?.id ?? "", section: last ? titleOf(last) : "" }
    const page = (kept.pages[HERE] ??= {})
    page.read ||= end < innerHeight * 1.25
  })
}

function showProgress(place) {
  const kept = readStored()
  const known = Object.entries(kept.pages).filter(([path, page]) => path && page?.title)
  const linkTo = (path, text) => {
    const address = new URL(encodeURI(path.replace(/^[/\\]+/, "")), __md_scope)
    return make("a", { href: address.origin === __md_scope.origin ? address.href : __md_scope.href }, text)
  }
  const last = kept.pages[kept.last?.page] && kept.last
  if (!last || !known.length) return
  const page = kept.pages[last.page]
  const answered = Object.keys(listGuesses(kept, last.page)).length
  const parts = [make("b", {}, "Continue where you stopped: "), linkTo(last.page + (last.at ? `#${last.at}` : ""), last.section ? `${page.title}, at “${last.section}”` : page.title)]
  if (page.asks) parts.push(`; ${answered} of ${page.asks} ${page.asks === 1 ? "question" : "questions"} predicted`)
  const finished = known.filter(([, each]) => each.read)
  const list = finished.flatMap(([path, each], index) => [index ? ", " : "", linkTo(path, each.title)])
  const forget = make("button", { type: "button" }, "Delete this data")
  forget.addEventListener("click", () => {
    try {
      __md_set(KEY, { pages: {} })
    } catch {}
    place.hidden = true
  })
  place.replaceChildren(make("p", {}, ...parts, "."), ...(list.length ? [make("p", {}, "Read to the end: ", ...list, ".")] : []), make("p", { className: "kept" }, "Stored only in this browser. ", forget))
  place.hidden = false
}

if (isChapter) {
  noteVisit()
  let waits
  addEventListener("scroll", () => {
    clearTimeout(waits)
    waits = setTimeout(notePlace, 300)
  }, { passive: true })
  addEventListener("pagehide", () => waits && notePlace())
}
questions.forEach(offer)
if (questions.length) showCounts()
const place = document.querySelector("#continue")
if (place) showProgress(place)
