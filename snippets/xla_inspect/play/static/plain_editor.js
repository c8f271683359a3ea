// The editor for installations without CodeMirror: a text area, without colored lines.
"use strict";
{
  const { element } = globalThis.xlaExplorer;

  class PlainEditor {
    // `act` has `change()`, called after each edit, and `line(number)`, called when the cursor moves to another line.
    constructor(host, text, act) {
      this.at = 1;
      this.area = element("textarea", { spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-label": "Python", wrap: "off" });
      this.area.value = text;
      this.area.addEventListener("input", () => act.change());
      this.area.addEventListener("selectionchange", () => this.tell(act));
      this.said = element("pre", { class: "difference", hidden: true, tabindex: "0", "aria-label": "The difference" });
      const note = element("p", { class: "plain" }, "This is a plain editor: the one with colours is not in this installation. It is in the package from the registry, or made by ", element("code", {}, "scripts/maintaining/browser-bundles"), ".");
      host.replaceChildren(this.area, this.said, note);
    }

    get text() {
      return this.area.value;
    }

    // Replace the program.
    replace(text) {
      this.area.value = text;
    }

    tell(act) {
      const line = this.area.value.slice(0, this.area.selectionStart).split("\n").length;
      if (line === this.at) return;
      this.at = line;
      act.line(line);
    }

    go(line) {
      const lines = this.area.value.split("\n");
      const at = lines.slice(0, line - 1).reduce((sum, it) => sum + it.length + 1, 0);
      this.area.focus();
      this.area.setSelectionRange(at, at + (lines[line - 1]?.length ?? 0));
    }

    focus() {
      this.area.focus();
    }

    mark() {}

    colour() {}

    light() {}

    // List the lines that only one of the texts has, with a sign before each line.
    against(text) {
      this.said.hidden = text === null;
      if (text === null) return;
      const [old, now] = [text.split("\n"), this.text.split("\n")];
      const lines = [...old.filter((it) => !now.includes(it)).map((it) => `- ${it}`), ...now.filter((it) => !old.includes(it)).map((it) => `+ ${it}`)];
      this.said.textContent = lines.join("\n") || "No line differs.";
    }
  }

  Object.assign(globalThis.xlaExplorer, { PlainEditor });
}
