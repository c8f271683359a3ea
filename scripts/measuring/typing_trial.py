"""An hour of a random typist at a playground, in which nothing may be lost: `scripts/bench typist`.

`[--minutes 60] [--seed 1] [--edits N]`. The editor holds what the typist's model holds, each pause is answered, and the
memory of the server and of the page stays flat.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import say
from measuring.trial_server import Playground, play
from measuring.typist import Typist

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser, CDPSession, Page

FLAT = 1.25
"""How often the memory of the first third of the time that of the last may be."""
CHECKPOINT = 60
"""Seconds between two measurements of memory."""


def weigh(page: Page) -> tuple[float, int]:
    """Return the megabytes that the page's scripts hold, once what nobody needs is gone, and the count of its nodes."""
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    told: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    found = {each["name"]: each["value"] for each in told}
    return found["JSHeapUsedSize"] / 2**20, int(found["Nodes"])


def type_for(browser: Browser, server: Playground, minutes: float, seed: int, edits: int) -> list[str]:
    """Type, say how it goes, and return what was lost."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(server.address)
    typist = Typist(page, random.Random(seed))  # noqa: S311 - the same each time is what is wanted
    typist.begin_anew()
    start = mark = time.monotonic()
    weights: list[tuple[float, float, float]] = []
    pauses = 0
    while time.monotonic() - start < minutes * 60 and (not edits or pauses < edits):
        typist.act()
        if typist.chance.random() < 0.3:  # noqa: PLR2004 - of ten acts, three are looked at
            typist.pause()
            pauses += 1
        else:
            typist.page.wait_for_timeout(typist.chance.choice((0, 50, 200, 500)))
        if server.process.poll() is not None:
            typist.lost.append("the server ended")
            break
        if time.monotonic() - mark > min(CHECKPOINT, minutes * 6) or (edits and pauses and pauses % 20 == 0):
            mark = time.monotonic()
            typist.pause()
            heap, nodes = weigh(typist.page)
            weights.append((server.memory(), server.memory_of_all(), heap))
            own, every, _ = weights[-1]
            done = f"{(mark - start) / 60:.1f} min, {sum(typist.done.values())} acts, {pauses} pauses"
            held = f"server {own:.0f} MB, with its processes {every:.0f} MB, page {heap:.1f} MB in {nodes:,} nodes"
            say(f"{done}: {held}; {len(typist.lost)} lost")
    typist.pause()
    typist.load_anew()
    say(", ".join(f"{count} x {name}" for name, count in sorted(typist.done.items())))
    if typist.waits:
        say(f"a pause was answered after {statistics.median(typist.waits):.1f} s, {max(typist.waits):.1f} s at most")
    for number, what in enumerate(("the server", "the server with its processes", "the page")):
        third = max(len(weights) // 3, 1)
        first, last = (statistics.median(each[number] for each in part) for part in (weights[:third], weights[-third:]))
        say(f"{what}: {first:.1f} MB in the first third, {last:.1f} in the last: {last / first:.2f} (at most {FLAT})")
        if last / first > FLAT:
            typist.lost.append(f"the memory of {what} grew")
    context.close()
    return typist.lost


def main(words: Sequence[str]) -> int:
    """Type as long as is asked, and return the exit status."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="scripts/bench typist", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="another typist for each number (default: 1)")
    parser.add_argument("--edits", type=int, default=0, help="stop after so many edits that were answered")
    asked = parser.parse_args(words)
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, play(folder=Path(folder)) as server:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        lost = type_for(browser, server, asked.minutes, asked.seed, asked.edits)
        browser.close()
    for each in lost:
        say(f"lost: {each}")
    say(f"seed {asked.seed}: {len(lost)} things were lost")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
