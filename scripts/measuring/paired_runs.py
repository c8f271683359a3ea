"""Times of paired runs: a thing and its floor in turn, so that a machine whose speed drifts slows both."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from common import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def compare_builds(
    name: str,
    runs: int,
    limits: tuple[float, float],
    build: Callable[[], None],
    floor: Mapping[str, Callable[[], None]],
) -> None:
    """Time a build beside the sum of its floor's parts, on the clock and of the processor, and print the ratios."""
    ratios: list[tuple[float, float]] = []
    for run in range(runs):
        clock, used = time_work(build)
        parts = {part: time_work(work) for part, work in floor.items()}
        least = [sum(times) for times in zip(*parts.values(), strict=True)]
        ratios.append((clock / least[0], used / least[1]))
        listed = ", ".join(f"{part} {clock:.2f} s ({cpu:.2f})" for part, (clock, cpu) in parts.items())
        say(f"{name}, pair {run + 1}: {clock:.2f} s ({used:.2f} of the processor) beside {listed}")
    for unit, limit, column in zip(
        ("on the clock", "of the processor"), limits, zip(*ratios, strict=True), strict=True
    ):
        print_ratios(f"{name}, {unit}", column, "the floor", limit)


def print_ratios(what: str, ratios: Sequence[float], floor: str, limit: float) -> None:
    """Print the median of ratios with its limit, and each of them."""
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    say(f"{what}: {statistics.median(ratios):.2f} times {floor} (at most {limit}; {listed})")


def time_work(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that a call takes, on the clock and of the processor in the processes that it starts."""
    start, before = time.perf_counter(), os.times()
    work()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, used


def call_python(*arguments: str, folder: object = ROOT, **environment: str) -> None:
    """Run this Python to its end in the project or in another folder, or stop with what it printed."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=str(folder), env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
