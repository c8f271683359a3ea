// Explanations of a picture, which a button with a question mark shows and hides.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  let made = 0;

  // Return `{ button, words }`. Place the words below the row of the button. A paragraph is a string or a `p` element.
  const help = (subject, ...paragraphs) => {
    const id = `help-${(made += 1)}`;
    const words = element("div", { class: "help", id, hidden: true }, ...paragraphs.filter(Boolean).map((it) => (it.localName === "p" ? it : element("p", {}, it))));
    const button = element("button", { type: "button", class: "ask", "aria-expanded": "false", "aria-controls": id, "aria-label": `What ${subject} shows` }, "?");
    const turn = (isOpen) => {
      words.hidden = !isOpen;
      button.setAttribute("aria-expanded", String(isOpen));
    };
    const close = (event) => {
      if (event.key !== "Escape" || words.hidden) return;
      event.stopPropagation();
      turn(false);
      button.focus();
    };
    button.addEventListener("click", () => turn(words.hidden));
    for (const part of [button, words]) part.addEventListener("keydown", close);
    return { button, words };
  };

  Object.assign(globalThis.xlaExplorer, { help });
}
