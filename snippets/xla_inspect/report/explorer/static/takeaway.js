// What a reader takes away: a link to exactly this view.
"use strict";
{
  const { element } = globalThis.xlaExplorer;

  class TakeAway {
    constructor(explorer) {
      this.explorer = explorer;
      this.root = element("button", { type: "button", on: { click: () => this.copyLink() } }, "Copy link");
    }

    update() {}

    async copyLink() {
      const { explorer } = this;
      const address = `${location.href.split("#")[0]}#${explorer.link()}`;
      await this.copy(address, "The link is copied.");
    }

    async copy(text, said) {
      try {
        await navigator.clipboard.writeText(text);
        this.explorer.status.say(said);
      } catch {
        this.explorer.status.say(text);
      }
    }
  }

  Object.assign(globalThis.xlaExplorer, { TakeAway });
}
