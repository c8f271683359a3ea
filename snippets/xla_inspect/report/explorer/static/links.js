// Links from an operand to its definition, from there to its users, and back, in the state that a pane shows.
"use strict";
{
  const { element } = globalThis.xlaExplorer;
  const SHOWN = 12; // the most operands or users to list

  const WHOLE = ["before", "passes", "after"]; // views that contain every definition
  const OPERANDS = /%([\w.$-]+)/g;

  // Return the rows and the users by name in a state. Results of recent states are cached.
  const connect = (model, state) => {
    model.connected ??= new Map();
    if (!model.connected.has(state)) {
      const [named, users] = [new Map(), new Map()];
      for (const c of model.module(state))
        for (const row of c.rows) {
          const [own, ...others] = [...model.data.texts[row.text].matchAll(OPERANDS)].map(([, name]) => name);
          if (!named.has(own)) named.set(own, row);
          for (const name of new Set(others)) users.set(name, users.get(name) ?? []).get(name).push(row);
        }
      if (model.connected.size > 3) model.connected.clear();
      model.connected.set(state, { named, users });
    }
    return model.connected.get(state);
  };

  class Links {
    // `explorer` applies the reader's choices.
    constructor(explorer) {
      Object.assign(this, { explorer, trail: [] });
      this.root = element("nav", { class: "links", "aria-label": "Operands and users" });
      this.root.hidden = true;
    }

    // If the click was on an operand's name, jump to its definition. Return whether it was.
    follow(pane, target) {
      const name = target.closest?.(".nv[data-name]")?.dataset.name;
      const line = target.closest?.("[data-instruction]");
      if (!name || !line || !WHOLE.includes(pane.state.view) || !pane.model.has("states")) return false;
      const row = connect(pane.model, pane.at()).named.get(name);
      if (!row || String(row.instruction) === line.dataset.instruction) return false;
      this.go(pane, row, Number(line.dataset.instruction));
      return true;
    }

    go(pane, row, from) {
      if (from !== null && from !== undefined) this.trail.push(from);
      this.choose(pane, row.instruction);
    }

    async choose(pane, instruction) {
      await this.explorer.act(pane, { chosen: instruction }, "push");
      for (const each of pane.part.querySelectorAll(".reaches")) {
        const line = each.reach?.(instruction);
        if (!line) continue;
        pane.bringChosen();
        line.focus({ preventScroll: true });
        return;
      }
    }

    // List the operands and the users of the chosen instruction.
    update(pane) {
      const { model, state } = pane;
      const row = model?.has("states") && WHOLE.includes(state.view) && pane.findRow(state.chosen);
      this.root.hidden = !row;
      if (!row) return;
      const { named, users } = connect(model, pane.at());
      const [own, ...others] = [...model.data.texts[row.text].matchAll(OPERANDS)].map(([, name]) => name);
      const button = (each) => element("button", { type: "button", on: { click: () => this.go(pane, each, row.instruction) } }, model.name(each));
      const list = (title, rows) =>
        rows.length ? [`${title} `, ...rows.slice(0, SHOWN).flatMap((each) => [button(each), " "]), rows.length > SHOWN ? `and ${rows.length - SHOWN} more ` : ""] : [];
      const back = element("button", { type: "button", on: { click: () => this.choose(pane, this.trail.pop()) } }, "← Back");
      const taken = [...new Set(others)].map((name) => named.get(name)).filter(Boolean);
      this.root.replaceChildren(...(this.trail.length ? [back, " "] : []), element("b", {}, model.name(row)), " ", ...list("uses", taken), ...list("used by", users.get(own) ?? []));
    }
  }

  Object.assign(globalThis.xlaExplorer, { Links });
}
