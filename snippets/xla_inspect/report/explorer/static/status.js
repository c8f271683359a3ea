// The status line: it describes the chosen line and instruction, and reports failed loads.
"use strict";
{
  const { element, count } = globalThis.xlaExplorer;

  class Status {
    constructor(explorer) {
      this.explorer = explorer;
      this.root = element("p", { class: "status", role: "status", tabindex: 0 });
    }

    say(text) {
      this.root.textContent = text;
    }

    expect(offer, offers) {
      if (!offers.peek(offer)) this.say(`Loading ${offer.title} …`);
    }

    fail(pane, change, error) {
      const { title } = this.explorer.offers.find({ ...pane.state, ...change });
      const retry = () => this.explorer.act(pane, change, "push");
      const again = element("button", { type: "button", on: { click: retry } }, "Try again");
      this.root.replaceChildren(`The data for ${title} did not load: ${error.message}. Check the connection. `, again);
    }

    // Describe what the place became, where that was counted, and where the chosen instruction comes from.
    tell(pane, found) {
      const { model, state } = pane;
      const row = pane.findRow(state.chosen);
      const origin = row ? model.explain(row) : "";
      const ways = this.offerWays(pane, row);
      if (state.place < 0) return void this.root.replaceChildren(origin || "Choose a line of Python, or an instruction.", ...ways);
      const said = [
        found?.jaxpr !== undefined && `${count(found.jaxpr, "line")} of the jaxpr`,
        found?.stablehlo !== undefined && `${found.stablehlo} of StableHLO`,
        found?.before !== undefined && `${count(found.before, "instruction")} at import`,
        found?.after !== undefined && `${found.after} at the end`,
      ].filter(Boolean);
      const end = [said.join(", "), said.length ? "." : "", origin && ` ${origin}`].filter(Boolean).join("");
      this.root.replaceChildren(element("b", {}, model.place(state.place)), `: ${end}`, ...ways);
    }

    // Offer buttons from the chosen instruction to the code of its kernel, and to the optimized HLO.
    offerWays(pane, row) {
      if (!row) return [];
      const { model, state } = pane;
      const isLeft = model.module(model.last).some((c) => c.rows.some((each) => each.instruction === row.instruction));
      const ways = [
        ["code", "Its code", model.hasCode(row.instruction)],
        ["after", "In the optimized HLO", isLeft],
      ];
      const go = (view) => this.explorer.act(pane, { view }, "push");
      return ways
        .filter(([view, , leads]) => leads && view !== state.view)
        .flatMap(([view, text]) => [" ", element("button", { type: "button", on: { click: () => go(view) } }, text)]);
    }
  }

  Object.assign(globalThis.xlaExplorer, { Status });
}
