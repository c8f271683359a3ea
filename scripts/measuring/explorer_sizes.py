"""How fast the explorer opens and scrolls a large module, beside the same text shown as it is."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common import say
from measuring.large_module import make_data, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser

_SCROLL = """async () => {
  const pane = document.querySelector("#explorer").shadowRoot.querySelector(".pane")
  globalThis.tasks.length = 0
  for (let at = 0; at < 100; at++) {
    pane.scrollTop = at % 2 ? pane.scrollHeight * ((at * 7) % 100) / 100 : pane.scrollTop + 500
    await new Promise((go) => requestAnimationFrame(go))
  }
  await new Promise((go) => setTimeout(go, 200))
  return globalThis.tasks.map(([, length]) => length)
}"""


def main(words: Sequence[str]) -> int:
    """Measure and print; the exit status is 0."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="scripts/bench explorer", description=__doc__)
    parser.add_argument("--instructions", type=int, default=50_000)
    parser.add_argument("--states", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "large.html")
        path.write_text(write_page(make_data(asked.instructions, asked.states)), encoding="utf-8")
        say(f"{asked.instructions:,} instructions in {asked.states} states: {path.stat().st_size / 1e6:.1f} MB")
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        runs = [_run(chromium, path) for _ in range(asked.runs)]
    plain, opened = (statistics.median(each) for each in ([run[0] for run in runs], [run[1] for run in runs]))
    tasks = sorted(length for *_, lengths in runs for length in lengths)
    say(f"opened in {opened:,.0f} ms, {opened / plain:.2f} of the {plain:,.0f} ms of the text as it is")
    say(f"scrolled with {len(tasks)} tasks over 50 ms, the longest of {max(tasks, default=0):,.0f} ms")
    return 0


def _run(chromium: Browser, path: Path) -> tuple[float, float, list[float]]:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    plain, opened = page.evaluate("plain()"), page.evaluate("open()")
    tasks = page.evaluate(_SCROLL)
    page.close()
    return plain, opened, tasks
