// A reader's edits, kept in this browser: the last of this file and port, and what others took the place of.
"use strict";
{
  const EARLIER = 12; // entries kept besides the last

  class Drafts {
    // `name` is the file; the port is part of the origin, whose storage this is.
    constructor(name, storage = globalThis.localStorage) {
      Object.assign(this, { key: `xla-play:${name}`, storage, tab: Math.random().toString(36).slice(2), failed: false });
    }

    // `{ now, earlier }`, entries of `{ code, function, arguments, targets, options, kept, tab }`; `kept` is a time.
    read() {
      try {
        const { now = null, earlier = [] } = JSON.parse(this.storage.getItem(this.key) ?? "{}");
        return { now, earlier };
      } catch {
        return { now: null, earlier: [] };
      }
    }

    // Keep what the editor holds. What another window has kept, or what this takes the place of, becomes an earlier one.
    keep(entry, isOther = false) {
      const { now, earlier } = this.read();
      const isLost = now && now.code !== entry.code && (isOther || now.tab !== this.tab);
      const rest = (isLost ? [now, ...earlier] : earlier).filter((it) => it.code !== entry.code);
      const distinct = rest.filter((it, at) => rest.findIndex((each) => each.code === it.code) === at).slice(0, EARLIER);
      return this.write({ now: { ...entry, kept: Date.now(), tab: this.tab }, earlier: distinct });
    }

    // Whether it was kept: a full storage loses earlier ones first.
    write({ now, earlier }) {
      for (let number = earlier.length; number >= 0; number--) {
        try {
          this.storage.setItem(this.key, JSON.stringify({ now, earlier: earlier.slice(0, number) }));
          return true;
        } catch {
          // Fewer may fit.
        }
      }
      return false;
    }
  }

  const when = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

  Object.assign((globalThis.xlaExplorer ??= {}), { Drafts, when });
}
