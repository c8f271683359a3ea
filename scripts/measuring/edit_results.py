"""How soon an edit is on the screen of a playground, beside the bare compile of the same program and the pause.

`scripts/bench edits-to-result [--only NAME,…] [--targets NAME,…] [--runs N]`. For each program of the gallery and each
target a line is typed over the function, so that every line of the compiler's metadata moves; the clock runs from the
last key until the explorer shows the whole result of that text. After each, a process that has JAX loaded and compiled
before makes the same compile with JAX alone, of the same text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT, say
from measuring.trial_server import play

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import BrowserContext

TARGETS = ("cpu", "h100", "tpu-v5e")
BAR = 1.3
LONGEST = 120
"""Seconds within which an edit is answered, where other work shares the machine."""

# Notes when the last key was pressed, and when the explorer first shows the whole result of what the editor holds.
WATCH = """target => {
  const { playground } = globalThis.xlaExplorer
  const watched = globalThis.watched = { key: 0, shown: 0 }
  addEventListener("keydown", () => Object.assign(watched, { key: performance.now(), shown: 0 }), true)
  const isShown = () => {
    const { run, editor, explorer } = playground
    const offer = explorer?.first?.offer
    return run?.request.code === editor.text && run.isDone && offer?.target === target && offer.code === editor.text &&
      !document.getElementById("result").classList.contains("old")
  }
  const look = () => {
    if (watched.key && !watched.shown && isShown()) watched.shown = performance.now()
    requestAnimationFrame(look)
  }
  look()
}"""
# Compiles for one target alone.
CHOOSE = """target => {
  for (const box of document.querySelectorAll(".targets input")) if (box.checked !== (box.name === target)) box.click()
  const { playground } = globalThis.xlaExplorer
  playground.run = null
  return playground.compile()
}"""
TEXT = "() => globalThis.xlaExplorer.playground.editor.text"


class Bare:
    """A process with JAX alone, which compiles a text for a target."""

    def __init__(self, function: str, target: str) -> None:
        """Start it."""
        command = [sys.executable, "-m", "measuring.edit_results", "--bare", function, target]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)

    def compile(self, path: Path) -> float:
        """Return the seconds from the text of a file to its executable."""
        assert self.process.stdin  # noqa: S101 - as it was started
        assert self.process.stdout  # noqa: S101 - as it was started
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def answer(function: str, named: str) -> None:
    """Compile each file that the standard input names."""
    import jax

    from measuring.bare_scale import PLATFORMS, put
    from xla_inspect import targets
    from xla_inspect.compilation import pin_options

    target = targets.find(named)
    targets.settle()
    device = target.devices()[0]
    for line in sys.stdin:
        path = Path(line.strip())
        start = time.perf_counter()
        known: dict[str, Any] = {"__name__": "edited", "__file__": str(path)}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), known)  # noqa: S102 - the gallery's programs
        args = put(known["EXAMPLE"], jax.sharding.SingleDeviceSharding(device))
        traced = jax.jit(known[function]).trace(*args)
        traced.lower(lowering_platforms=(PLATFORMS[target.kind],)).compile(compiler_options=dict(pin_options(target)))
        sys.stdout.write(f"{time.perf_counter() - start}\n")
        sys.stdout.flush()


def list_programs() -> dict[str, tuple[Path, str]]:
    """Return file and function of each program of the gallery that its file tells all of."""
    from programs.gallery import PROGRAMS

    found = {}
    for name, piece in PROGRAMS.items():
        module = sys.modules[piece.function.__module__]
        alone = piece.devices == 1 and not piece.arguments and getattr(module, "EXAMPLE", None) == piece.example
        if alone and module.__file__:
            found[name] = Path(module.__file__), piece.function.__name__
    return found


def measure(context: BrowserContext, path: Path, function: str, target: str, runs: int) -> float:
    """Edit one program for one target, say what it took, and return the median ratio."""
    ratios: list[float] = []
    told = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place = path.relative_to(ROOT)
        server = stack.enter_context(play(f"{place}:{function}", folder=ROOT))
        bare = Bare(function, target)
        stack.callback(bare.end)
        page = stack.enter_context(context.new_page())
        page.goto(server.address)
        page.wait_for_function("() => globalThis.xlaExplorer?.playground?.run?.isDone", timeout=LONGEST * 1000)
        pause = page.evaluate("() => globalThis.xlaExplorer.PAUSE ?? 400") / 1000
        page.evaluate(CHOOSE, target)
        page.wait_for_function("() => globalThis.xlaExplorer.playground.run?.isDone", timeout=LONGEST * 1000)
        page.evaluate(WATCH, target)
        bare.compile(path)
        for turn in range(runs + 1):
            page.locator(".cm-content").focus()
            page.keyboard.press("Control+Home")
            page.keyboard.press("ArrowDown")
            page.keyboard.type(f"# edit {turn}\n")
            page.wait_for_function("() => globalThis.watched.shown > 0", timeout=LONGEST * 1000)
            took = page.evaluate("() => (watched.shown - watched.key) / 1000")
            text = folder / "edited.py"
            text.write_text(page.evaluate(TEXT), encoding="utf-8")
            floor = bare.compile(text)
            if turn:  # what the first edit loads is no part of it
                ratios.append(took / (floor + pause))
                told.append(f"{took:.2f} beside {floor:.2f} + {pause:.1f} s")
    ratio: float = statistics.median(ratios)
    say(f"{path.stem}, {target}: {ratio:.2f} times the bare compile and the pause ({'; '.join(told)})")
    return ratio


def main(words: Sequence[str]) -> int:
    """Measure what was asked for, and return the exit status."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="scripts/bench edits-to-result", description=__doc__)
    parser.add_argument("--only", default="", help="names of the gallery, with commas between them")
    parser.add_argument("--targets", default=",".join(TARGETS), help="with commas between them")
    parser.add_argument("--runs", type=int, default=3, help="edits of each (default: 3)")
    asked = parser.parse_args(words)
    programs = list_programs()
    chosen = asked.only.split(",") if asked.only else [*programs]
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    ratios = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        context = browser.new_context(bypass_csp=True)
        for name in chosen:
            ratios += [measure(context, *programs[name], target, asked.runs) for target in asked.targets.split(",")]
        browser.close()
    say(f"{len(ratios)} programs and targets: {statistics.median(ratios):.2f} in the median, {max(ratios):.2f} at most")
    say(f"(at most {BAR}; {sum(ratio > BAR for ratio in ratios)} are above)")
    return max(ratios) > BAR


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        answer(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
