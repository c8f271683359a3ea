// The explorer's model of one capture: the data from report/explorer/data.py, and queries on it. It uses no DOM.
"use strict";
(globalThis.xlaExplorer ??= {}).Model = class Model {
  static MANY = 4000; // the most rows to compare without a worker
  static KEPT = 8; // the most differences to cache

  // `loadDetails` returns a promise of the data that is loaded on demand: texts of code, and reasons.
  constructor(data, loadDetails) {
    Object.assign(this, { data, loadDetails });
    this.modules = new Map();
    this.made = new Map();
    this.compared = new Map();
    this.last = (data.states?.length ?? 0) - 1;
  }

  // Return whether a part of the data is present. The data may arrive stage by stage.
  has(part) {
    const held = this.data[part];
    return Array.isArray(held) ? held.length > 0 : Boolean(held);
  }

  // Load the details once. The next call after a failed load tries again.
  details() {
    this.detailed ??= this.loadDetails().catch((error) => {
      this.detailed = null;
      throw error;
    });
    return this.detailed;
  }

  // Return whether an instruction belongs to a kernel whose code is shown.
  hasCode(instruction) {
    return Boolean(this.data.code?.kernels.some((kernel) => kernel.holds.includes(instruction)));
  }

  // Return the module of a state: computations, callers first, each with its rows. States share equal computations.
  module(state) {
    if (!this.modules.has(state)) this.modules.set(state, this.numbers(state).map((number) => this.computation(number)));
    return this.modules.get(state);
  }

  // Return the numbers of a state's computations. Each state is stored as edits of the previous state.
  numbers(state) {
    this.listed ??= [];
    for (let at = this.listed.length; at <= state; at++)
      this.listed.push(Model.edit(this.listed[at - 1] ?? [], this.data.states[at].computations));
    return this.listed[state];
  }

  // Apply edits to a list. Each edit has four numbers: how many entries to keep, how many entries to remove, the first
  // number to insert, and how many consecutive numbers to insert.
  static edit(old, edit) {
    const made = [];
    let at = 0;
    const copy = (end) => {
      while (at < end) made.push(old[at++]);
    };
    for (let n = 0; n < edit.length; n += 4) {
      copy(at + edit[n]);
      at += edit[n + 1];
      for (let each = 0; each < edit[n + 3]; each++) made.push(edit[n + 2] + each);
    }
    copy(old.length);
    return made;
  }

  // Return a row of the table. Each row is created once. A column stores the difference from the row above.
  row(number) {
    if (!this.columns) {
      const names = ["instruction", "text", "configuration", "origin", "place"];
      this.columns = names.map((name) => {
        let sum = 0;
        return Int32Array.from(this.data.rows[name], (difference) => (sum += difference));
      });
      this.rows = new Array(this.columns[0].length);
    }
    const [instructions, texts, configurations, origins, places] = this.columns;
    return (this.rows[number] ??= {
      instruction: instructions[number],
      text: texts[number],
      configuration: configurations[number],
      origin: origins[number],
      place: places[number],
      kind: "same",
    });
  }

  // Return the numbers of a computation's rows. A computation may be an edit of another edit, to any depth.
  rowNumbers(number) {
    this.numbered ??= new Map();
    const wanted = [];
    for (let at = number; at >= 0 && !this.numbered.has(at); at = this.data.computations[at][2]) wanted.push(at);
    for (const at of wanted.reverse()) {
      const [, , base, edit] = this.data.computations[at];
      this.numbered.set(at, Model.edit(base < 0 ? [] : this.numbered.get(base), edit));
    }
    return this.numbered.get(number);
  }

  computation(number) {
    if (!this.made.has(number)) {
      const [name, isEntry] = this.data.computations[number];
      this.made.set(number, { name, isEntry, number, kind: "same", rows: this.rowNumbers(number).map((at) => this.row(at)) });
    }
    return this.made.get(number);
  }

  // Return the computations in a box of the graph: the instruction itself, then the computations that it calls.
  held(box) {
    this.byName ??= new Map(this.module(this.last).map((c) => [c.name, c]));
    this.entryRows ??= new Map(this.module(this.last).find((c) => c.isEntry).rows.map((row) => [row.instruction, row]));
    return [{ name: "", rows: [this.entryRows.get(box.instruction)] }, ...box.called.map((name) => this.byName.get(name))];
  }

  // Return the state most like a state of another model: after the same pass, else equally far through the passes.
  findPass(other, number) {
    if (number === 0) return 0;
    const { pass, pipeline } = other.data.states[number];
    const through = number / Math.max(other.last, 1);
    const far = (at) => Math.abs(at / Math.max(this.last, 1) - through);
    const rank = (at) => {
      const state = this.data.states[at];
      return state.pass !== pass ? 2 : state.pipeline !== pipeline ? 1 : 0;
    };
    const all = this.data.states.map((_, at) => at).slice(1);
    return all.sort((a, b) => rank(a) - rank(b) || far(a) - far(b))[0] ?? 0;
  }

  // Return a row's text as the switches select.
  print(row, { layouts, configuration, metadata }) {
    let text = this.data.texts[row.text];
    if (!layouts) text = text.replace(/(\])\{[^{}=]*\}/g, "$1");
    if (configuration && row.configuration >= 0) text += this.data.configurations[row.configuration];
    if (metadata && row.origin >= 0) {
      const name = this.data.origins[row.origin][0];
      const place = this.place(row.place);
      if (name) text += `, metadata={op_name=${JSON.stringify(name)}${place ? ` ${place}` : ""}}`;
    }
    return text;
  }

  // Return the name of a row's instruction.
  name(row) {
    return this.data.texts[row.text].trim().match(/^(?:ROOT )?(\S+) =/)?.[1] ?? this.data.texts[row.text];
  }

  // Return `file:line`, or an empty string.
  place(number) {
    if (number < 0) return "";
    const [file, line] = this.data.places[number];
    return `${this.data.sources[file][0]}:${line}`;
  }

  findPlace(file, line) {
    return this.data.places.findIndex(([f, l]) => f === file && l === line);
  }

  // Describe the origin of an instruction in words.
  explain(row) {
    if (row.origin < 0) return "The compiler created this instruction without a line of Python.";
    const [name, chain, through] = this.data.origins[row.origin];
    const said = [];
    if (through) said.push(`This instruction has no line of Python; the line shown is that of its neighbor ${through}.`);
    if (name) said.push(name);
    if (chain >= 0) said.push(this.data.chains[chain].map(([f, file, line]) => `${f || "?"} (${file}:${line})`).join(" ← "));
    return said.join(" · ");
  }

  // Return the difference between a state and the previous one, by computation. Each row has a `kind`: same, added,
  // removed or changed. A changed row has the earlier row in `was`. See `diff.js`.
  diff(state) {
    if (state === 0) return this.module(0);
    const { compareStates, finish } = globalThis.xlaExplorer;
    return this.compared.get(state) ?? this.keep(state, finish(compareStates(...this.pairOf(state))));
  }

  // Return whether computing the difference may take longer than a task should.
  isSlow(state) {
    if (state === 0 || this.compared.has(state)) return false;
    const [old, now] = [new Set(this.numbers(state - 1)), this.numbers(state)];
    return now.reduce((sum, number) => sum + (old.has(number) ? 0 : this.rowNumbers(number).length), 0) > Model.MANY;
  }

  // Return a promise of the difference. A slow difference is computed in a worker.
  async diffSoon(state) {
    if (!this.isSlow(state)) return this.diff(state);
    const found = await globalThis.xlaExplorer.comparer.compare(this.pairOf(state));
    return this.compared.get(state) ?? this.keep(state, found);
  }

  pairOf(state) {
    const list = (at) => this.numbers(at).map((number) => {
      const [name, isEntry] = this.data.computations[number];
      return { number, name, isEntry, rows: this.rowNumbers(number) };
    });
    this.row(0);
    return [list(state - 1), list(state), this.data.states[state].changed, this.columns[0]];
  }

  keep(state, found) {
    const kinds = ["same", "added", "removed", "changed"];
    const shown = found.map((it) => {
      const c = it.at >= 0 ? this.module(state)[it.at] : this.module(state - 1)[it.before];
      if (!it.rows) return c;
      const rows = Array.from(it.rows, (number, n) => {
        if (it.kinds[n] === 0) return this.row(number);
        return { ...this.row(number), kind: kinds[it.kinds[n]], was: it.was[n] < 0 ? undefined : this.row(it.was[n]) };
      });
      return { ...c, kind: it.kind, rows };
    });
    if (this.compared.size >= Model.KEPT) this.compared.delete(this.compared.keys().next().value);
    this.compared.set(state, shown);
    return shown;
  }

  instructionCount(state) {
    return Object.values(this.data.states[state].counts).reduce((sum, n) => sum + n, 0);
  }

  // Return the opcodes whose counts differ from the previous state: `[opcode, difference]`.
  countDelta(state) {
    if (state === 0) return [];
    const [old, now] = [this.data.states[state - 1].counts, this.data.states[state].counts];
    return [...new Set([...Object.keys(old), ...Object.keys(now)])]
      .map((opcode) => [opcode, (now[opcode] ?? 0) - (old[opcode] ?? 0)])
      .filter(([, difference]) => difference)
      .sort(([a], [b]) => a.localeCompare(b));
  }

  // Group the passes by pipeline, in order: `{ pipeline, states, silent }`. `silent` counts runs without changes.
  pipelines() {
    const groups = [];
    this.data.states.forEach((state, number) => {
      if (number === 0) return;
      const last = groups.at(-1);
      if (last?.pipeline === state.pipeline) last.states.push(number);
      else groups.push({ pipeline: state.pipeline, states: [number] });
    });
    const runs = new Map(this.data.runs.map(([pipeline, total, changed]) => [pipeline, total - changed]));
    return groups.map((group) => ({ ...group, silent: runs.get(group.pipeline) ?? 0 }));
  }
};
