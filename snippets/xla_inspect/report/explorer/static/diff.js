// The difference between two states of a module. It uses only plain numbers, so that a worker can also compute it.
"use strict";
{
  // States are lists of computations, `{ number, name, isEntry, rows }`, where `rows` are row numbers. `instructions`
  // maps a row to its instruction, and `changed` lists the instructions that the pass changed. The result lists
  // computations in display order: `at` is the index in the later state, or -1 for a removed computation, whose index
  // in the earlier state is `before`. `rows` is null if nothing differs. Otherwise `kinds` has for each row 0 same, 1
  // added, 2 removed or 3 changed, and `was` has the earlier row of a changed row. Only instruction numbers are
  // compared, so a new name is not a difference. The generator yields regularly, so that its caller can pause it.
  function* compareStates(before, after, changed, instructions) {
    const PIECE = 4000; // rows between two pauses
    const [kept, stays] = [new Set(after.map((c) => c.number)), new Set(before.map((c) => c.number))];
    const left = before.filter((c) => !kept.has(c.number));
    const isChanged = new Set(changed);
    // The rows and computations of the instructions outside the computations that both states share.
    const [old, homes, here] = [new Map(), new Map(), new Map()];
    let done = 0;
    for (const [index, c] of left.entries())
      for (const row of c.rows) {
        old.set(instructions[row], row);
        homes.set(instructions[row], index);
        if (++done % PIECE === 0) yield;
      }
    const votes = left.map(() => new Map());
    const shown = [];
    for (const [at, c] of after.entries()) {
      const isSame = stays.has(c.number);
      if (isSame && !isChanged.size) {
        shown.push({ at, before: -1, kind: "same", rows: null });
        continue;
      }
      const kinds = new Uint8Array(c.rows.length);
      const was = new Int32Array(c.rows.length).fill(-1);
      let differs = false;
      for (let n = 0; n < c.rows.length; n++) {
        const instruction = instructions[c.rows[n]];
        if (!isSame) {
          const home = homes.get(instruction);
          if (home !== undefined) votes[home].set(at, (votes[home].get(at) ?? 0) + 1);
          here.set(instruction, at);
        }
        const found = isSame ? c.rows[n] : old.get(instruction);
        kinds[n] = found === undefined ? 1 : isChanged.has(instruction) ? 3 : 0;
        if (kinds[n] === 3) was[n] = found;
        differs ||= kinds[n] > 0;
        if (++done % PIECE === 0) yield;
      }
      const kind = c.rows.length && kinds.every((it) => it === 1) ? "added" : "same";
      shown.push({ at, before: -1, kind, rows: differs ? Int32Array.from(c.rows) : null, kinds, was });
    }
    // Insert removed rows at their old position: after their old predecessor, in the computation that received most of
    // the instructions of their computation.
    const inserted = after.map(() => null);
    for (const [index, c] of left.entries()) {
      const gone = c.rows.filter((row) => !here.has(instructions[row]));
      done += c.rows.length;
      yield;
      if (!gone.length) continue;
      const most = [...votes[index]].sort(([a, m], [b, n]) => n - m || a - b)[0]?.[0];
      const home = most ?? after.findIndex((it) => it.name === c.name || (it.isEntry && c.isEntry));
      if (home < 0) {
        const kinds = new Uint8Array(gone.length).fill(2);
        shown.push({ at: -1, before: before.indexOf(c), kind: "removed", rows: Int32Array.from(gone), kinds, was: new Int32Array(gone.length).fill(-1) });
        continue;
      }
      const places = (inserted[home] ??= new Map());
      const groups = new Map();
      let previous = -1;
      for (const row of c.rows) {
        const instruction = instructions[row];
        const where = here.get(instruction);
        if (where === undefined) groups.set(previous, groups.get(previous) ?? []).get(previous).push(row);
        else if (where === home) previous = instruction;
      }
      for (const [place, rows] of groups) places.set(place, [...rows, ...(places.get(place) ?? [])]);
    }
    for (const [at, places] of inserted.entries()) {
      if (!places) continue;
      const it = shown[at];
      const source = after[at].rows;
      const length = source.length + [...places.values()].reduce((sum, rows) => sum + rows.length, 0);
      const [rows, kinds, was] = [new Int32Array(length), new Uint8Array(length), new Int32Array(length).fill(-1)];
      let n = 0;
      const put = (row, kind, old) => {
        [rows[n], kinds[n], was[n]] = [row, kind, old];
        n += 1;
      };
      for (const row of places.get(-1) ?? []) put(row, 2, -1);
      for (let each = 0; each < source.length; each++) {
        put(source[each], it.kinds?.[each] ?? 0, it.was?.[each] ?? -1);
        for (const row of places.get(instructions[source[each]]) ?? []) put(row, 2, -1);
        if (++done % PIECE === 0) yield;
      }
      Object.assign(it, { kind: "same", rows, kinds, was });
    }
    return shown;
  }

  const finish = (steps) => {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  };

  Object.assign((globalThis.xlaExplorer ??= {}), { compareStates, finish });
}
