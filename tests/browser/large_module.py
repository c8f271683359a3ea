"""The explorer's data for a module of any size, and the page that shows it."""

from __future__ import annotations

import json
from string import Template
from typing import Any

from xla_inspect import capture
from xla_inspect.captured import PassChange
from xla_inspect.report.explorer import LATER, SCRIPTS, STYLE, describe_capture, join_scripts, read_asset

WHOLE = 3
"""The number of the state that changes the layout of every instruction."""

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
    """Return the explorer's data of a module of that many instructions.

    Args:
        instructions: The number of its instructions.
        states: The number of states, each of which changes one instruction in a hundred; `WHOLE` changes all.
    """
    before, *after = (write_module(instructions, state) for state in range(states))
    passes = tuple(PassChange("passes", f"pass-{state}", text) for state, text in enumerate(after, 1))
    texts = {"before": before, "after": after[-1], "buffers": "", "live_ranges": ""}
    small = capture(abs, 1.0, passes=False)
    return describe_capture(small.retold(program="large", passes=passes, sources={}, **texts))


def write_module(instructions: int, state: int) -> str:
    """Return the HLO text of a module with this number of instructions, in a state."""
    layout = "{0,1}" if state >= WHOLE else "{1,0}"
    lines = ["HloModule large", "", "ENTRY main {", f"  add.0 = f32[128,512]{layout} parameter(0)"]
    for number in range(1, instructions):
        latest_change = max((at for at in range(state + 1) if (number + at) % 100 == 0), default=0)
        operand = max(number - 1 - latest_change, 0)
        lines.append(f"  add.{number} = f32[128,512]{layout} add(add.{number - 1}, add.{operand})")
    lines[-1] = lines[-1].replace("  add", "  ROOT add", 1)
    return "\n".join([*lines, "}", ""])


def write_page(data: dict[str, Any]) -> str:
    """Return a page with `open()`, which opens the explorer, and `plain()`, which shows the same text as it is.

    Both are promises of milliseconds; `tasks` are the long tasks of the page, each its start and its length.
    """
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    scripts = join_scripts((*SCRIPTS, *LATER))
    return _PAGE.substitute(style=read_asset(STYLE), data=text, scripts=scripts)
