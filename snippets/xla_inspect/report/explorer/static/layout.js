// Where the boxes of a layered graph go: rows from top to bottom, few crossings, edges as straight as there is room for.
// The method is that of Sugiyama, Tagawa and Toda: rows, then an order within them, then places. No page here.
"use strict";
{
  const SWEEPS = 12;

  // A row for each node: below what it takes; what takes nothing stands close above its first user.
  const layer = (count, edges, limit) => {
    const takes = Array.from({ length: count }, () => []);
    const users = Array.from({ length: count }, () => []);
    for (const [from, to] of edges) {
      takes[to].push(from);
      users[from].push(to);
    }
    const row = new Array(count).fill(0);
    const taken = new Map();
    const settle = (node, wanted, step) => {
      while ((taken.get(wanted) ?? 0) >= limit) wanted += step;
      taken.set(wanted, (taken.get(wanted) ?? 0) + 1);
      row[node] = wanted;
    };
    for (let node = 0; node < count; node++)
      if (takes[node].length || !users[node].length)
        settle(node, Math.max(0, ...takes[node].map((from) => row[from] + 1)), 1);
    for (let node = count - 1; node >= 0; node--)
      if (!takes[node].length && users[node].length)
        settle(node, Math.min(...users[node].map((to) => row[to])) - 1, -1);
    const used = [...new Set(row)].sort((a, b) => a - b);
    return row.map((each) => used.indexOf(each));
  };

  // Edges in steps from one row to the next, through points; those of one source share their points.
  const cut = (edges, row) => {
    const all = [...row];
    const points = new Map();
    const steps = new Map();
    const add = (from, to) => steps.set(`${from} ${to}`, [from, to]);
    for (const [from, to] of edges) {
      let last = from;
      for (let at = row[from] + 1; at < row[to]; at++) {
        const key = `${from} ${at}`;
        if (!points.has(key)) points.set(key, all.push(at) - 1);
        add(last, points.get(key));
        last = points.get(key);
      }
      add(last, to);
    }
    return { row: all, steps: [...steps.values()] };
  };

  const neighbours = (count, steps) => {
    const [above, below] = [0, 1].map(() => Array.from({ length: count }, () => []));
    for (const [from, to] of steps) {
      below[from].push(to);
      above[to].push(from);
    }
    return [above, below];
  };

  const crossings = (rows, below) => {
    let sum = 0;
    for (const [at, row] of rows.entries()) {
      const place = new Map((rows[at + 1] ?? []).map((node, index) => [node, index]));
      const ends = row.flatMap((node) => below[node].map((to) => place.get(to)).sort((a, b) => a - b));
      for (let i = 0; i < ends.length; i++) for (let j = i + 1; j < ends.length; j++) if (ends[i] > ends[j]) sum++;
    }
    return sum;
  };

  // `count` nodes, numbered in an order in which edges lead upwards; `limit` of them may stand in one row.
  // Returns { rows, steps }: numbers from `count` on are points that an edge passes.
  const arrange = (count, edges, limit) => {
    const { row, steps } = cut(edges, layer(count, edges, limit));
    const rows = Array.from({ length: Math.max(-1, ...row) + 1 }, () => []);
    row.forEach((at, node) => rows[at].push(node));
    const [above, below] = neighbours(row.length, steps);
    let best = [crossings(rows, below), rows.map((each) => [...each])];
    for (let sweep = 0; sweep < SWEEPS && best[0]; sweep++) {
      const down = sweep % 2 === 0;
      const near = down ? above : below;
      for (const each of down ? rows.slice(1) : rows.slice(0, -1).reverse()) {
        const at = new Map(rows.flatMap((other) => other.map((node, index) => [node, index / Math.max(other.length - 1, 1)])));
        const mean = (node) => (near[node].length ? near[node].reduce((sum, o) => sum + at.get(o), 0) / near[node].length : at.get(node));
        const means = new Map(each.map((node) => [node, mean(node)]));
        each.sort((a, b) => means.get(a) - means.get(b));
      }
      const now = crossings(rows, below);
      if (now < best[0]) best = [now, rows.map((each) => [...each])];
    }
    return { rows: best[1], steps };
  };

  // The places nearest to the wanted ones that keep order, gaps and bounds: isotonic regression by pooling.
  const spread = (wanted, widths, width) => {
    const offsets = [0];
    for (let at = 1; at < widths.length; at++) offsets.push(offsets[at - 1] + (widths[at - 1] + widths[at]) / 2);
    const pools = [];
    wanted.forEach((target, at) => {
      let [mean, size] = [target - offsets[at], 1];
      while (pools.length && pools.at(-1)[0] > mean) {
        const [other, more] = pools.pop();
        [mean, size] = [(mean * size + other * more) / (size + more), size + more];
      }
      pools.push([mean, size]);
    });
    const lowest = widths[0] / 2;
    const highest = Math.max(lowest, width - widths.at(-1) / 2 - offsets.at(-1));
    const shifts = pools.flatMap(([mean, size]) => new Array(size).fill(Math.min(Math.max(mean, lowest), highest)));
    return offsets.map((offset, at) => offset + shifts[at]);
  };

  // The middle of each node across, in `width`, given the width that each takes.
  const place = ({ rows, steps }, widths, width) => {
    const [above, below] = neighbours(widths.length, steps);
    const middle = new Array(widths.length).fill(width / 2);
    for (let sweep = 0; sweep < SWEEPS; sweep++)
      for (const row of sweep % 2 ? [...rows].reverse() : rows) {
        const wanted = row.map((node) => {
          const near = [...above[node], ...below[node]];
          return near.length ? near.reduce((sum, other) => sum + middle[other], 0) / near.length : middle[node];
        });
        const found = spread(wanted, row.map((node) => widths[node]), width);
        row.forEach((node, at) => (middle[node] = found[at]));
      }
    return middle;
  };

  Object.assign((globalThis.xlaExplorer ??= {}), { arrange, place });
}
