// The menus above the editor, for choosing a program and for sharing one, and the notices with their buttons.
"use strict";
{
  const { element, when } = globalThis.xlaExplorer;

  // Create a button that opens a list of buttons. Esc, or moving the focus away, closes the list.
  const menu = (title, fill) => {
    const list = element("div", { class: "list" });
    // The click fills the list, before the list opens. "toggle" comes later and would take the focus from a field in it.
    const refill = () => root.open || list.replaceChildren(...fill(item));
    const root = element("details", { class: "menu" }, element("summary", { on: { click: refill } }, title), list);
    const close = (isFocused) => {
      root.open = false;
      if (isFocused) root.firstElementChild.focus();
    };
    const item = (text, act, more = "") =>
      element("button", { type: "button", on: { click: () => (close(true), act()) } }, text, more && element("small", {}, more));
    root.addEventListener("toggle", () => {
      // The open list covers the result, so make the result inert.
      document.getElementById("result").inert = document.querySelector(".menu[open]") !== null;
    });
    root.addEventListener("keydown", (event) => event.key === "Escape" && root.open && (event.stopPropagation(), close(true)));
    root.addEventListener("focusout", (event) => !root.contains(event.relatedTarget) && event.relatedTarget && close(false));
    document.addEventListener("pointerdown", (event) => !root.contains(event.target) && close(false));
    return root;
  };

  class PlayMenus {
    // `act` has `start(example)`, `file()`, `restore(entry)`, `open(link)`, `choose(function)`, `copy(kind)`, `link()`
    // and `download()`. Its `earlier()` lists the stored edits.
    constructor(root, examples, file, act) {
      this.functions = element("select", { "aria-label": "Function", on: { change: () => act.choose(this.functions.value) } });
      this.link = element("input", { type: "text", "aria-label": "A link to code", placeholder: "paste a link", on: { keydown: (event) => event.key === "Enter" && act.open(this.link.value) } });
      const from = menu("Start from", (item) => [
        item(file || "the file", act.file, "as it is on disk"),
        ...examples.map((it) => item(it.title, () => act.start(it), it.question)),
      ]);
      const kept = menu("Earlier edits", (item) => {
        const entries = act.earlier();
        const first = (code) => code.split("\n").findLast((line) => /^\s*def /.test(line))?.trim() ?? code.slice(0, 60);
        return entries.length ? entries.map((it) => item(when(it.kept), () => act.restore(it), first(it.code))) : [element("p", {}, "None are kept yet.")];
      });
      const copy = menu("Share", (item) => [
        item("Copy a link", act.link, "the code is in the link, and sent to nobody"),
        item("Copy as test", () => act.copy("test"), "a test that holds what it compiles to"),
        item("Copy as issue", () => act.copy("issue"), "a reproducer with versions"),
        item("Copy the command", () => act.copy("command"), "what asks the same in a terminal"),
        item("Download", act.download, "the file as it is here"),
        element("div", { class: "open" }, this.link, element("button", { type: "button", on: { click: () => act.open(this.link.value) } }, "Open")),
      ]);
      root.replaceChildren(this.functions, from, kept, copy);
    }

    // List the functions of the code, and select the one that is compiled.
    list(functions, chosen) {
      const names = functions.map((it) => it.name);
      if (names.join() !== [...this.functions.options].map((it) => it.value).join())
        this.functions.replaceChildren(...names.map((name) => element("option", { value: name }, `${name}()`)));
      this.functions.value = chosen;
      this.functions.hidden = !names.length;
    }
  }

  // Notices above the editor. A notice stays until it is closed or another notice of its kind replaces it.
  class Notices {
    constructor(root) {
      this.root = root;
    }

    // `actions` are pairs of a text and a function. Each action closes the notice. `canClose` adds a Close button.
    say(kind, text, actions = [], canClose = true) {
      const close = () => note.remove();
      const buttons = [...actions, ...(canClose ? [["Close", () => {}]] : [])].map(([name, act]) =>
        element("button", { type: "button", on: { click: () => (close(), act()) } }, name),
      );
      const note = element("div", { class: `notice ${kind}` }, element("span", {}, text), ...buttons);
      this.clear(kind);
      this.root.append(note);
      return note;
    }

    clear(kind) {
      for (const each of this.root.querySelectorAll(`.${kind}`)) each.remove();
    }
  }

  Object.assign(globalThis.xlaExplorer, { PlayMenus, Notices });
}
