// A tooltip that explains an opcode, an attribute or a pass in one sentence, on hover and on focus.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const [REST, LEAVE] = [350, 200]; // milliseconds before the tooltip appears, and before it disappears

  class Hover {
    // `shadow` is the shadow root of one explorer. `words` returns `[name, sentence]` for an element, or null.
    constructor(shadow, words) {
      Object.assign(this, { words, about: null });
      this.root = element("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
      const later = (act, after) => {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(act, after);
      };
      const over = (event, after) => {
        if (this.root.contains(event.target)) return void clearTimeout(this.waiting);
        const told = event.target.closest?.("[data-word], [data-pass], .chip");
        if (!told) return void later(() => this.hide(), LEAVE);
        if (told !== this.about) later(() => this.show(told), after);
        else clearTimeout(this.waiting);
      };
      shadow.addEventListener("pointerover", (event) => over(event, REST));
      shadow.addEventListener("focusin", (event) => {
        const told = event.target.closest?.("[data-pass]") ?? event.target.querySelector?.(":scope > [data-word]");
        if (told && event.target.matches(":focus-visible")) later(() => this.show(told), REST);
        else later(() => this.hide(), 0);
      });
      shadow.addEventListener("pointerleave", () => later(() => this.hide(), LEAVE));
      shadow.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || this.root.hidden) return;
        event.stopPropagation();
        this.hide();
      }, true);
      shadow.addEventListener("scroll", () => this.hide(), true);
    }

    show(told) {
      const said = told.isConnected && this.words(told);
      if (!said) return void this.hide();
      const [name, sentence] = said;
      this.hide();
      this.about = told;
      this.root.replaceChildren(element("b", {}, name), ` ${sentence}`);
      this.root.hidden = false;
      (told.closest("button, [role=option]") ?? told).setAttribute("aria-describedby", "tip");
      const [at, own] = [told.getBoundingClientRect(), this.root.getBoundingClientRect()];
      const isBelow = at.bottom + own.height + 4 < innerHeight;
      this.root.style.left = `${Math.max(Math.min(at.left, innerWidth - own.width - 8), 4)}px`;
      this.root.style.top = `${isBelow ? at.bottom + 2 : Math.max(at.top - own.height - 2, 2)}px`;
    }

    hide() {
      clearTimeout(this.waiting);
      if (this.about) (this.about.closest("button, [role=option]") ?? this.about).removeAttribute("aria-describedby");
      this.about = null;
      this.root.hidden = true;
    }
  }

  // Return `[name, sentence]` for an element in a model's view, or null.
  const findWord = (model, told) => {
    const words = model.data.words ?? {};
    const find = (key) => (words[key] ? [key.slice(key.indexOf(":") + 1), words[key]] : null);
    if (told.dataset.word) return find(told.dataset.word);
    const state = model.data.states?.[told.dataset.pass];
    return state ? find(`pass:${state.pass}`) : null;
  };

  Object.assign(globalThis.xlaExplorer, { Hover, findWord });
}
