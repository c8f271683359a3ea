// Adds a button to each listing that copies its text. Without this script the page lacks nothing else.
if (navigator.clipboard) {
  for (const listing of document.querySelectorAll(".highlight")) {
    const code = listing.querySelector("pre code")
    if (!code) continue
    const button = document.createElement("button")
    button.type = "button"
    button.className = "copy"
    button.textContent = "Copy"
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent)
      button.textContent = "Copied"
      setTimeout(() => (button.textContent = "Copy"), 1500)
    })
    listing.append(button)
  }
}
