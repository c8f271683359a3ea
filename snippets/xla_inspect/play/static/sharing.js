// Sharing of code: by a link, whose code runs only after the reader agrees, through the clipboard, and as a file.
"use strict";
{
  const { element, packCode, unpackCode } = globalThis.xlaExplorer;
  const WARNING = "This code came by a link and has not run. Read it first: it runs on this machine, with your rights. The playground limits its time, its memory and its output. It does not stop it from reading or changing your files, from using the network, or from starting programs that run on.";

  class Sharing {
    constructor(page) {
      this.page = page;
    }

    // Show the code of a link, and ask the reader before it runs.
    async open(link) {
      const { page } = this;
      try {
        const program = await unpackCode(link);
        if (!page.held) page.keep();
        const { now } = page.drafts.read();
        page.stop();
        page.held = true;
        page.put(program);
        page.notices.clear("kept");
        page.notices.say("held", WARNING, [["Run it", () => this.accept(program)], ["Back to mine", () => this.leave(now)]], false);
      } catch (error) {
        page.notices.say("broken", `That link cannot be opened: ${error.message}. Nothing of yours has changed.`);
        this.forget();
        if (!page.run && !page.held) page.compile();
      }
    }

    // Remove the code from the URL. Until the reader runs the code or goes back, reloading the page asks again.
    forget() {
      if (location.hash) history.replaceState(null, "", location.pathname);
    }

    accept(program) {
      const { page } = this;
      this.forget();
      Object.assign(page, { held: false, look: program.look });
      page.counterparts.forget();
      page.drafts.keep(page.request, true);
      page.compile();
    }

    leave(now) {
      this.forget();
      this.page.held = false;
      this.page.put(now ?? this.page.told);
      this.page.compile();
    }

    async copyLink() {
      const { target, view } = this.page.explorer?.state ?? {};
      const address = `${location.origin}${location.pathname}#${await packCode({ ...this.page.request, look: { target, view } })}`;
      await this.toClipboard(address, "The link is copied: the code is in it, and is sent to nobody.");
    }

    // Copy a text that the compiler writes: `test`, `issue` or `command`.
    async copyText(kind) {
      try {
        await this.toClipboard(await this.page.compiler.copy(kind, this.page.request), "It is copied.");
      } catch (error) {
        this.page.notices.say("copied", error.message);
      }
    }

    async toClipboard(text, said) {
      try {
        await navigator.clipboard.writeText(text);
        this.page.notices.say("copied", said);
      } catch {
        const area = element("textarea", { readonly: true, rows: 4, "aria-label": "To copy" });
        area.value = text;
        this.page.notices.say("copied", "The browser does not let the page copy. Copy it from here: ").append(area);
        area.select();
      }
    }

    download() {
      const address = URL.createObjectURL(new Blob([this.page.editor.text], { type: "text/x-python" }));
      element("a", { href: address, download: (this.page.told.file || "playground.py").split("/").at(-1) }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }
  }

  Object.assign(globalThis.xlaExplorer, { Sharing });
}
