// Two panes side by side: matching instructions are highlighted together, and the panes scroll together.
"use strict";
{
  const { element, match, light, menu, percent, views, isOffered } = globalThis.xlaExplorer;

  class Pair {
    constructor(explorer, first, second) {
      Object.assign(this, { explorer, panes: [first, second], found: null, scrolled: new WeakMap() });
      this.listening = new AbortController();
      this.told = element("p", { class: "matched", role: "note" });
      this.menus = new Map(this.panes.map((pane) => [pane, this.addMenus(pane)]));
      for (const pane of this.panes) {
        const { signal } = this.listening;
        pane.part.addEventListener("scroll", () => this.scrollWith(pane), { signal, passive: true });
      }
      explorer.bar.options.before(this.told);
    }

    close() {
      this.listening.abort();
      this.told.remove();
      for (const pane of this.panes) {
        pane.stepper.menus.replaceChildren();
        for (const each of pane.part.querySelectorAll(".twin")) each.classList.remove("twin");
      }
    }

    other(pane) {
      return this.panes.find((each) => each !== pane);
    }

    // Add a pane's own menus above it.
    addMenus(pane) {
      const act = (change) => this.explorer.act(pane, change, "push");
      const made = {
        program: menu("program", "Program", (program) => act({ program })),
        target: menu("target", "Target", (target) => act({ target })),
        view: menu("view", "View", (view) => act({ view })),
        pass: menu("pass", "Pass", (pass) => act({ pass: Number(pass) })),
      };
      pane.stepper.menus.replaceChildren(...Object.values(made));
      return made;
    }

    fillMenus(pane) {
      const { state, model } = pane;
      const { offers } = this.explorer;
      const { program, target, view, pass } = this.menus.get(pane);
      program.fill(offers.programs(), state.program);
      program.hidden = offers.programs().length < 2;
      target.fill(offers.targets(state.program), state.target);
      const shown = Object.entries(views).filter(([name]) => isOffered(model, name));
      view.fill(shown.map(([name, { title }]) => [name, title]), state.view);
      pass.hidden = state.view !== "passes";
      pass.fill(model.data.states.map((it, at) => [at, `${at} ${it.pass || it.label || "as imported"}`]), state.pass);
    }

    update() {
      const [a, b] = this.panes;
      if (!a.model || !b.model) return;
      for (const pane of this.panes) this.fillMenus(pane);
      const asked = this.panes.map((pane) => [pane.model, pane.at()]);
      const isSame = this.asked?.every(([model, at], n) => model === asked[n][0] && at === asked[n][1]);
      if (isSame) return;
      this.asked = asked;
      this.found = a.model.last < 0 || b.model.last < 0 ? null : match(...asked);
      this.tell();
    }

    tell() {
      if (!this.found) return void this.told.replaceChildren();
      const { there, of } = this.found;
      const share = (2 * there.size) / Math.max(of[0] + of[1], 1);
      this.told.textContent = `${percent(share)} matched: ${there.size} of ${of[0]} and ${of[1]} instructions`;
    }

    twin(pane, number) {
      if (number === null || !this.found) return null;
      return (pane === this.panes[0] ? this.found.there : this.found.back).get(number) ?? null;
    }

    // Apply a change of one pane to the other: the chosen line, and the match of the chosen instruction.
    follow(pane, change) {
      const other = this.other(pane);
      if (!other.model || !("place" in change || "chosen" in change)) return;
      if ("place" in change) other.state.place = other.findPlace(pane.place());
      other.state.chosen = this.twin(pane, pane.state.chosen);
      other.relight();
      if (other.state.place >= 0 || other.state.chosen !== null) other.bringChosen();
    }

    // Mark the instruction that matches the one under the pointer.
    point(pane, number) {
      const other = this.other(pane).part;
      for (const each of other.querySelectorAll(".twin")) each.classList.remove("twin");
      const twin = this.twin(pane, number);
      if (twin !== null) for (const each of other.querySelectorAll(`[data-instruction="${twin}"]`)) each.classList.add("twin");
    }

    // Scroll the other pane so that the first visible matched row is equally high in both panes.
    scrollWith(pane) {
      if (Math.abs((this.scrolled.get(pane) ?? -2) - pane.part.scrollTop) < 2) return void this.scrolled.delete(pane);
      this.scrolled.delete(pane);
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.align(pane, this.other(pane)));
    }

    align(pane, other) {
      const top = pane.part.getBoundingClientRect().top;
      const otherTop = other.part.getBoundingClientRect().top;
      const before = other.part.scrollTop;
      const anchor = this.found && this.findAnchor(pane, other);
      if (anchor) other.part.scrollTop += anchor.there.getBoundingClientRect().top - otherTop - (anchor.here.getBoundingClientRect().top - top);
      else if (pane.state.view === other.state.view) {
        const room = (part) => Math.max(part.scrollHeight - part.clientHeight, 1);
        other.part.scrollTop = (pane.part.scrollTop / room(pane.part)) * room(other.part);
      }
      if (other.part.scrollTop !== before) this.scrolled.set(other, other.part.scrollTop);
    }

    // Return the row of an instruction. A list that draws only visible rows adds it to the DOM first.
    reach(pane, number) {
      const [list] = pane.part.getElementsByClassName("reaches");
      return pane.part.querySelector(`[data-instruction="${number}"]`) ?? list?.reach?.(number) ?? null;
    }

    // Return the first visible row of a pane that has a match in the other pane, and that match.
    findAnchor(pane, other) {
      const { top, bottom, left, width } = pane.part.getBoundingClientRect();
      let last = null;
      for (let y = top + 4; y < Math.min(bottom, innerHeight); y += 16) {
        const here = this.explorer.shadow.elementFromPoint(left + width * 0.75, y)?.closest("[data-instruction]");
        if (!here || here === last) continue;
        last = here;
        const twin = this.twin(pane, Number(here.dataset.instruction));
        const there = twin === null ? null : this.reach(other, twin);
        if (there?.checkVisibility()) return { here, there };
      }
      return null;
    }
  }

  Object.assign(globalThis.xlaExplorer, { Pair });
}
