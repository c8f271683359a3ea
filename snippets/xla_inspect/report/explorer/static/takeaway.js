// The menu that saves or copies the current view: its link, its text, the command that produces it, and a picture.
"use strict";
{
  const X = globalThis.xlaExplorer;
  const { element, views } = X;
  const STAGES = { jaxpr: "jaxpr", stablehlo: "stablehlo", before: "before", after: "after", code: "code", buffers: "buffers", kernels: "kernels" };

  // Replace everything but letters, digits, underscores, dots and dashes, for a file name.
  const slug = (text) => text.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "");
  // Quote a word for a shell.
  const quote = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

  const save = (blob, name) => {
    const href = URL.createObjectURL(blob);
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  };

  class TakeAway {
    constructor(explorer) {
      this.explorer = explorer;
      const entry = (text, what, click) => element("button", { type: "button", on: { click: () => this.take(click) } }, text, element("small", {}, what));
      this.told = element("small");
      this.texts = entry("Download this text", "", () => this.download());
      this.texts.lastChild.replaceWith(this.told);
      this.root = element(
        "details",
        { class: "takeaway" },
        element("summary", {}, "Save or copy"),
        element(
          "div",
          {},
          entry("Copy link", "to exactly this view", () => this.copyLink()),
          this.texts,
          entry("Copy command", "that shows this view for your own function", () => this.copy(this.command(), "The command is copied: ")),
          entry("Save SVG", "a picture of the visible part", () => this.saveSvg()),
          entry("Save PNG", "a picture of the visible part", () => this.savePng()),
        ),
      );
      // Close the menu on Escape, and on a click outside it.
      this.root.addEventListener("keydown", (event) => event.key === "Escape" && this.close(true));
      explorer.shadow.addEventListener("click", (event) => this.root.contains(event.target) || this.close(false));
    }

    close(isBack) {
      if (isBack && this.root.open) this.root.querySelector("summary").focus();
      this.root.open = false;
    }

    async take(click) {
      this.close(true);
      try {
        await click();
      } catch (error) {
        this.explorer.status.say(`This action failed: ${error.message}.`);
      }
    }

    get pane() {
      return this.explorer.acting.model ? this.explorer.acting : this.explorer.first;
    }

    update() {
      const { pane } = this;
      const { title } = pane.offer;
      this.told.textContent = `${this.fileName("txt")}, of ${title}`;
    }

    // Return the file name for the view's text or picture.
    fileName(end) {
      const { model, state } = this.pane;
      const pass = state.view === "passes" ? `${String(state.pass).padStart(3, "0")}-${model.data.states[state.pass].pass || "as-imported"}` : "";
      return `${[model.data.program, state.target, state.view === "passes" ? pass : state.view].map(slug).join(".")}.${end}`;
    }

    // Return the text of the shown state: a stage unchanged, or the whole module in a form that XLA can parse.
    text() {
      const { pane } = this;
      const { model, state } = pane;
      const lines = { jaxpr: model.data.jaxpr, stablehlo: model.data.stablehlo }[state.view];
      if (lines) return `${lines.map(([text]) => text).join("\n")}\n`;
      if (model.last < 0) throw new Error("there is no module yet");
      const how = { layouts: true, configuration: true, metadata: false };
      const row = (it) => `  ${model.print(it, how).trim()}`;
      const written = (it) => `${it.isEntry ? "ENTRY " : ""}%${it.name} {\n${it.rows.map(row).join("\n")}\n}`;
      // In HLO text, a called computation comes before its callers.
      const computations = [...model.module(pane.at())].reverse();
      return `HloModule ${slug(model.data.program).replace(/[.-]/g, "_")}\n\n${computations.map(written).join("\n\n")}\n`;
    }

    download() {
      save(new Blob([this.text()], { type: "text/plain" }), this.fileName("txt"));
      this.explorer.status.say(`${this.fileName("txt")} is saved.`);
    }

    // Return the command that shows this view. It names the program if the explorer knows the program's name.
    command() {
      const { explorer, pane } = this;
      const subject = pane.offer.subject ?? explorer.options.subject ?? "FILE.py:FUNCTION";
      const targets = [...new Set(explorer.panes.map((it) => it.state.target))];
      const stage = explorer.second ? undefined : STAGES[pane.state.view];
      const words = stage ? ["show", subject, "--stage", stage] : ["report", subject];
      return ["xla-inspect", ...words, ...targets.flatMap((target) => ["--target", target])].map(quote).join(" ");
    }

    async copyLink() {
      const address = `${location.href.split("#")[0]}#${this.explorer.link()}`;
      await this.copy(address, "The link is copied.");
    }

    // Copy a text. If the clipboard is not available, show the text so that the reader can copy it.
    async copy(text, said) {
      try {
        await navigator.clipboard.writeText(text);
        this.explorer.status.say(said.endsWith(": ") ? said + text : said);
      } catch {
        this.explorer.status.say(text);
      }
    }

    async saveSvg() {
      await X.more();
      save(new Blob([X.drawSvg(this.explorer.sides)], { type: "image/svg+xml" }), this.fileName("svg"));
      this.sayPicture("svg");
    }

    async savePng() {
      await X.more();
      save(await X.drawPng(this.explorer.sides), this.fileName("png"));
      this.sayPicture("png");
    }

    sayPicture(end) {
      const { title } = views[this.pane.state.view];
      this.explorer.status.say(`${this.fileName(end)}, a picture of ${title}, is saved.`);
    }
  }

  Object.assign(globalThis.xlaExplorer, { TakeAway });
}
