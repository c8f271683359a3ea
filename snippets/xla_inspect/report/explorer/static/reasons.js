// The compiler's decisions about an instruction: each with its pass, verdict, a sentence and the compiler's own words.
"use strict";
{
  const { element, count } = globalThis.xlaExplorer;
  const FIRST = 6; // decisions shown at first

  // The panel of one explorer. `show(change, history)` changes the state of the explorer.
  class Reasons {
    constructor(show) {
      Object.assign(this, { show, asked: 0, shown: null });
      this.root = element("div", { class: "reasons", role: "region", "aria-label": "The compiler's reasons", tabindex: 0 });
    }

    // Show the decisions about the instruction with this number and name, or a hint if `number` is null.
    async tell(model, number, name) {
      const asked = ++this.asked;
      this.root.hidden = !model.data.reasons;
      if (!model.data.reasons || this.shown === `${model.data.target} ${number}`) return;
      this.shown = null;
      if (number === null) return void this.root.replaceChildren(element("p", {}, "Hover over an instruction, or choose it, to read the compiler's decisions about it and their reasons."));
      try {
        const { reasons } = await model.details();
        if (asked !== this.asked) return;
        this.fill(name, (reasons.about[number] ?? []).map((at) => reasons.said[at]));
        this.shown = `${model.data.target} ${number}`;
      } catch (error) {
        if (asked === this.asked) this.root.replaceChildren(element("p", {}, `The compiler's reasons did not load: ${error.message}. Check the connection, and choose the instruction again.`));
      }
    }

    fill(name, said) {
      const heading = said.length ? `${name}: ${count(said.length, "decision")}` : `${name}: the compiler reports no decision.`;
      const list = element("ul", {}, ...said.slice(0, FIRST).map((each) => this.decision(each)));
      const rest = said.slice(FIRST);
      const more = element("button", { type: "button", class: "more" }, `${rest.length} more`);
      more.addEventListener("click", () => {
        list.append(...rest.map((each) => this.decision(each)));
        more.remove();
      });
      this.root.replaceChildren(element("p", {}, heading), list, rest.length ? more : "");
      this.root.scrollTop = 0;
    }

    decision([topic, verdict, pass, sentence, words, state]) {
      const step = () => this.show({ view: "passes", pass: state }, "push");
      return element(
        "li",
        { class: verdict },
        element("b", {}, verdict),
        ` ${topic}, `,
        state >= 0 ? element("button", { type: "button", title: "Show what this pass changed", on: { click: step } }, pass) : pass,
        sentence ? `: ${sentence} ` : ": ",
        element("q", {}, words),
      );
    }
  }

  Object.assign(globalThis.xlaExplorer, { Reasons });
}
