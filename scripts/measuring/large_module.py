"""The explorer's data of a module as large as one wants, and the page that shows it."""

from __future__ import annotations

import json
from string import Template
from typing import Any

from xla_inspect.report.explorer import LATER, SCRIPTS, STYLE, RowTable, join_scripts, read_asset

FUSED = 12
"""Instructions of a fusion's computation."""

SHARE = 5
"""One of how many instructions stands in a fusion's computation."""

WHOLE = 3
"""The state that changes all of it."""

_PAGE = Template("""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Large</title>
<div id="explorer"></div>
<template id="style"><style>$style</style></template>
<script type="application/json" id="data">$data</script>
<script>$scripts</script>
<script>
globalThis.tasks = []
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) globalThis.tasks.push([startTime, duration])
}).observe({ type: "longtask", buffered: true })
globalThis.open = async () => {
  const start = performance.now()
  const offer = {
    target: "cpu", title: "CPU",
    load: async () => JSON.parse(document.getElementById("data").textContent), loadDetails: async () => ({}),
  }
  const style = document.getElementById("style").content.firstElementChild.cloneNode(true)
  globalThis.shown = new xlaExplorer.Explorer(document.getElementById("explorer"), "large", [offer], style)
  await globalThis.shown.start({ view: "after", pass: 0 })
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go)))
  return performance.now() - start
}
// The floor: the same data parsed, and the same text in one element.
globalThis.plain = async () => {
  const start = performance.now()
  const { texts } = JSON.parse(document.getElementById("data").textContent)
  const pre = document.createElement("pre")
  pre.textContent = texts.join("\\n")
  document.body.append(pre)
  pre.getBoundingClientRect()
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go)))
  pre.remove()
  return performance.now() - start
}
</script>
</html>
""")


def make_data(instructions: int, states: int) -> dict[str, Any]:
    """Return the explorer's data of a made-up module.

    Args:
        instructions: How many it has.
        states: How many states, each of which changes one instruction in a hundred; `WHOLE` changes all.
    """
    table, texts, numbers = RowTable(), [], iter(range(10**9))

    def row(number: int, operand: int, layout: str) -> tuple[int, ...]:
        texts.append(
            f"%add.{number} = f32[128,512]{layout} add(%add.{operand}, %multiply.{number}), sharding={{replicated}}"
        )
        return number, len(texts) - 1, -1, -1, number % 40

    fused = instructions // SHARE // FUSED
    sizes = [("main", instructions - fused * FUSED), *((f"fused_computation.{at}", FUSED) for at in range(fused))]
    module = {}
    for name, size in sizes:
        own = [next(numbers) for _ in range(size)]
        module[name] = [row(number, max(number - 1, 0), "{1,0}") for number in own]
    described = []
    for state in range(states):
        changed: list[int] = []
        layout = "{0,1}" if state >= WHOLE else "{1,0}"
        for rows in module.values() if state else ():
            for at, (number, *_) in enumerate(rows):
                if state == WHOLE or (number + state) % 100 == 0:
                    rows[at] = row(number, max(number - 1 - state, 0), layout)
                    changed.append(number)
        for name, rows in module.items():
            table.add(name, is_entry=name == "main", rows=rows)
        described.append(
            {
                "pipeline": "passes" if state else "",
                "pass": f"pass-{state}" if state else "",
                "summary": "",
                "counts": {"add": instructions},
                "changed": sorted(changed),
                "computations": table.end_state(),
            }
        )
    return {
        "version": 3,
        "program": "large",
        "target": "cpu",
        "title": "CPU",
        "versions": {},
        "sources": [["large.py", [f"x{at} = y{at} + z{at}" for at in range(40)]]],
        "jaxpr": [],
        "stablehlo": [],
        "states": described,
        "runs": [],
        "code": None,
        "reasons": False,
        "rows": table.write(),
        "computations": table.computations,
        "places": [[0, at + 1] for at in range(40)],
        "texts": texts,
        "configurations": [],
        "origins": [],
        "chains": [],
        "words": {},
    }


def write_page(data: dict[str, Any]) -> str:
    """Return a page with `open()`, which opens the explorer, and `plain()`, which shows the same text as it is.

    Both are promises of milliseconds; `tasks` are the long tasks of the page, each its start and its length.
    """
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    scripts = join_scripts((*SCRIPTS, *LATER))
    return _PAGE.substitute(style=read_asset(STYLE), data=text, scripts=scripts)
