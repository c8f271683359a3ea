// A reader's edits, stored in this browser: the last edit of this file and port, and edits that were replaced.
"use strict";
{
  const EARLIER = 12; // earlier entries to store

  class Drafts {
    // `name` is the file. Browsers separate storage by origin, which includes the port.
    constructor(name, storage = globalThis.localStorage) {
      Object.assign(this, { key: `xla-play:${name}`, storage, tab: Math.random().toString(36).slice(2), failed: false });
    }

    // Return `{ now, earlier }`, entries of `{ code, function, arguments, targets, options, kept, tab }`; `kept` is in
    // ms.
    read() {
      try {
        const { now = null, earlier = [] } = JSON.parse(this.storage.getItem(this.key) ?? "{}");
        return { now, earlier };
      } catch {
        return { now: null, earlier: [] };
      }
    }

    // Store the editor's content. If another window stored the last entry, or if `isOther`, it becomes an earlier one.
    keep(entry, isOther = false) {
      const { now, earlier } = this.read();
      const isLost = now && now.code !== entry.code && (isOther || now.tab !== this.tab);
      const rest = (isLost ? [now, ...earlier] : earlier).filter((it) => it.code !== entry.code);
      const distinct = rest.filter((it, at) => rest.findIndex((each) => each.code === it.code) === at).slice(0, EARLIER);
      return this.write({ now: { ...entry, kept: Date.now(), tab: this.tab }, earlier: distinct });
    }

    // Store the entries and return whether that worked. If the storage is full, drop the oldest entries.
    write({ now, earlier }) {
      for (let number = earlier.length; number >= 0; number--) {
        try {
          this.storage.setItem(this.key, JSON.stringify({ now, earlier: earlier.slice(0, number) }));
          return true;
        } catch {
          // Try again with fewer entries.
        }
      }
      return false;
    }
  }

  const when = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

  Object.assign((globalThis.xlaExplorer ??= {}), { Drafts, when });
}
