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
