// The editor in the place of a program: what is typed, how its run goes, and the ways back.
"use strict";
{
  const { make } = globalThis.pageEdits;
  const PAUSE = 600; // milliseconds without a key after which an edit runs
  const SLOW = 2000; // milliseconds after which a run says what it does

  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  class ProgramEditor {
    // `act` has `parts`, `run(text, tell)`, which returns when the run ended, `stop()`, `keep(text)` and `close()`.
    constructor(place, text, act) {
      Object.assign(this, { place, act, own: text, ran: text, runs: 0 });
      const file = place.dataset.file.split("/").at(-1);
      const button = (label, press) => {
        const made = make("button", { type: "button" }, label);
        made.addEventListener("click", press);
        return made;
      };
      this.host = make("div", { className: "edit-host" });
      this.said = make("p", { className: "edit-said" });
      this.said.setAttribute("role", "status");
      this.faults = make("ul", { className: "edit-faults", hidden: true });
      this.next = button("Next change", () => this.goNext());
      this.back = button("Back to the page's own", () => this.restore());
      this.stopping = button("Stop", () => this.act.stop());
      this.leave = button("Close", () => this.close());
      this.next.hidden = this.back.hidden = this.stopping.hidden = true;
      this.bar = make("div", { className: "edit-bar" }, this.next, this.back, this.stopping, this.leave);
      const heading = make("p", { className: "edit-title" }, "Edit ", make("code", {}, file), ": what this page shows of it is made anew as you type. The file stays as it is.");
      this.panel = make("section", { className: "edit-panel" }, heading, this.host, this.faults, this.said, this.bar);
      this.panel.setAttribute("aria-label", `Edit ${file}`);
      this.panel.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && (event.preventDefault(), this.run()));
      place.append(this.panel);
      const { PythonEditor, PlainEditor } = globalThis.xlaExplorer;
      const Editor = PythonEditor ?? PlainEditor;
      this.editor = new Editor(this.host, text, { change: () => this.wait(), line() {} });
      const content = this.host.querySelector(".cm-content");
      content?.setAttribute("tabindex", "0"); // what scrolls around it is reached by the keyboard
      content?.removeAttribute("aria-describedby");
      this.at = 0;
    }

    focus() {
      this.editor.focus();
    }

    // An edit that was begun before takes the place of the page's own.
    take(text) {
      this.editor.replace(text);
      this.run();
    }

    wait() {
      clearTimeout(this.waits);
      this.act.keep(this.editor.text);
      this.waits = setTimeout(() => this.run(), PAUSE);
    }

    say(text) {
      if (this.said.textContent !== text) this.said.textContent = text;
    }

    mark(faults) {
      this.editor.mark(faults);
      this.host.querySelector("textarea")?.setAttribute("aria-invalid", String(faults.length > 0));
      this.faults.hidden = !faults.length;
      this.faults.replaceChildren(
        ...faults.map(({ line, message }) => {
          if (!line) return make("li", {}, message);
          const go = make("button", { type: "button" }, `Line ${line}`);
          go.addEventListener("click", () => this.editor.go(line));
          return make("li", {}, go, `: ${message}`);
        }),
      );
    }

    async run() {
      clearTimeout(this.waits);
      const text = this.editor.text;
      if (text === this.ran) return;
      this.ran = text;
      const number = ++this.runs;
      if (text === this.own) {
        this.act.stop();
        this.restore();
        return;
      }
      const began = performance.now();
      let doing = "";
      const progress = setInterval(() => {
        const seconds = (performance.now() - began) / 1000;
        if (seconds * 1000 > SLOW) this.say(`${Math.floor(seconds)} s${doing ? `: ${doing}` : ""} …`);
      }, 500);
      this.stopping.hidden = false;
      this.say("Your edit runs …");
      this.panel.setAttribute("aria-busy", "true");
      const told = await this.act.run(text, (work) => (doing = work));
      clearInterval(progress);
      if (number !== this.runs) return;
      this.stopping.hidden = true;
      this.panel.removeAttribute("aria-busy");
      this.show(told, (performance.now() - began) / 1000);
    }

    show(told, seconds) {
      const parts = this.act.parts;
      if (told.event === "failed") {
        this.mark([told]);
        this.say(parts.isChanged ? "This edit does not run. The page shows the one before it." : "This edit does not run. The page is as it was.");
      } else if (told.event === "page") {
        this.mark([]);
        parts.show(told.html, told.failures, this.place);
        const checks = told.failures.filter((each) => each.kind === "check" && each.is_false).length;
        const made = parts.changed.length ? `${count(parts.changed.length, "part")} of this page made anew` : "Nothing on this page changes";
        const untrue = checks ? ` ${count(checks, "check")} no longer ${checks === 1 ? "holds" : "hold"}.` : "";
        this.say(`${made} in ${seconds.toFixed(1)} s (${told.ran} of ${told.pieces} blocks, checks and values ran).${untrue}`);
      } else this.say(told.event === "superseded" ? "Stopped." : (told.error ?? "The server did not answer. Is it still there?"));
      this.at = 0;
      this.next.hidden = !parts.changed.length;
      this.back.hidden = !parts.isChanged && this.editor.text === this.own;
    }

    goNext() {
      const { changed } = this.act.parts;
      const part = changed[this.at++ % changed.length];
      part.scrollIntoView({ block: "center" });
      part.setAttribute("tabindex", "-1");
      part.focus({ preventScroll: true });
    }

    restore() {
      clearTimeout(this.waits);
      this.runs++;
      this.act.stop();
      this.ran = this.own;
      if (this.editor.text !== this.own) this.editor.replace(this.own);
      clearTimeout(this.waits);
      this.act.keep(this.own);
      this.act.parts.restore(this.place);
      this.mark([]);
      this.panel.removeAttribute("aria-busy");
      this.next.hidden = this.back.hidden = this.stopping.hidden = true;
      this.say("This is the page's own.");
      this.focus();
    }

    close() {
      this.restore();
      this.panel.remove();
      this.act.close();
    }
  }

  Object.assign(globalThis.pageEdits, { ProgramEditor });
}
