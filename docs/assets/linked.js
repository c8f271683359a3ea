// Highlight, in a function and in the graphs next to it, everything that comes from the operations under the pointer or
// the focus. Each part lists its operations in `data-of`, numbered from one; the frame lists the highlighted in `data-lit`.
const linkFrame = (frame) => {
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
const linkAll = (root) => root.querySelectorAll(".linked").forEach(linkFrame)
linkAll(document)
// When a page is edited in place, some of its parts are replaced.
document.addEventListener("page:parts", ({ detail }) => detail.forEach((part) => (part.matches(".linked") ? linkFrame(part) : linkAll(part))))
