// Add a button that copies a listing's text when the pointer or the focus reaches the listing.
// Without this script, the rest of the page works.
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
