// Gives a listing a button that copies its text, once a pointer or the focus comes to it.
// Without this script a page lacks nothing else.
function offerCopy({ target }) {
  const listing = target.closest?.(".highlight")
  if (!listing || !navigator.clipboard || listing.querySelector(".copy")) return
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(listing.querySelector("pre code").textContent)
    button.textContent = "Copied"
    setTimeout(() => (button.textContent = "Copy"), 1500)
  })
  listing.append(button)
}
document.addEventListener("pointerover", offerCopy)
document.addEventListener("focusin", offerCopy)
