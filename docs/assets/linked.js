// Lights, in a function and in the graphs beside it, all that came from the operations under the pointer or the focus.
// Each part names its operations in `data-of`, numbers from one; what is lit, the frame names in `data-lit`.
for (const frame of document.querySelectorAll(".linked")) {
  const light = (event) => {
    const part = event.target.closest("[data-of]")
    if (part) frame.dataset.lit = part.dataset.of
    else delete frame.dataset.lit
    const lit = new Set(part?.dataset.of.split(" "))
    for (const each of frame.querySelectorAll(".operation")) each.classList.toggle("lit", lit.has(each.dataset.of))
    for (const each of frame.querySelectorAll(".launch"))
      each.classList.toggle("lit", each.dataset.of?.split(" ").some((number) => lit.has(number)) ?? false)
  }
  const clear = () => {
    delete frame.dataset.lit
    for (const each of frame.querySelectorAll(".lit")) each.classList.remove("lit")
  }
  frame.addEventListener("pointerover", light)
  frame.addEventListener("focusin", light)
  frame.addEventListener("pointerleave", clear)
  frame.addEventListener("focusout", clear)
}

// Where a page has many explorers, a menu shows one of them: the one that the address names, else the one it begins with.
for (const menu of document.querySelectorAll("select[data-explorers]")) {
  const roots = [...document.querySelectorAll("[data-explorer]")]
  const choose = (name) => {
    const chosen = roots.find((root) => root.dataset.explorer === name) ?? roots[0]
    menu.value = chosen.dataset.explorer
    for (const root of roots) root.hidden = root !== chosen
    chosen.querySelector(".offer button")?.click()
  }
  const named = () => new URLSearchParams(location.hash.slice(1)).get("x")
  menu.closest("[hidden]")?.removeAttribute("hidden")
  // The target and the view that the last program was seen in stay.
  menu.addEventListener("change", () => {
    const fields = new URLSearchParams(location.hash.slice(1))
    const kept = ["target", "view"].filter((name) => fields.has(name)).map((name) => `&${name}=${fields.get(name)}`)
    if (kept.length) location.hash = `x=${menu.value}${kept.join("")}`
    else choose(menu.value)
  })
  addEventListener("hashchange", () => named() && choose(named()))
  choose(named() ?? menu.dataset.explorers)
}
