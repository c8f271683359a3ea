"""The times of paired runs: a task alternates with its floor, the least work for the same result."""

from __future__ import annotations

import os
import resource
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
    """Time a build and the parts of its floor `runs` times in alternation, and print the ratios with their limits."""
    ratios: list[tuple[float, float]] = []
    for run in range(runs):
        clock, processor = time_work(build)
        parts = {part: time_work(work) for part, work in floor.items()}
        least = [sum(times) for times in zip(*parts.values(), strict=True)]
        ratios.append((clock / least[0], processor / least[1]))
        listed = ", ".join(f"{part} {clock:.2f} s ({cpu:.2f})" for part, (clock, cpu) in parts.items())
        say(f"{name}, pair {run + 1}: {clock:.2f} s ({processor:.2f} of the processor) beside {listed}")
    for unit, limit, column in zip(
        ("on the clock", "of the processor"), limits, zip(*ratios, strict=True), strict=True
    ):
        print_ratios(f"{name}, {unit}", column, "the floor", limit)


def print_ratios(what: str, ratios: Sequence[float], floor: str, limit: float) -> None:
    """Print the median of the ratios with its limit, and each ratio."""
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    say(f"{what}: {statistics.median(ratios):.2f} times {floor} (at most {limit}; {listed})")


def time_work(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall-clock seconds of a call, and the processor seconds of the processes that it starts."""
    start, before = time.perf_counter(), _sum_children()
    work()
    # Child processes count once they have ended, which `work` waits for.
    return time.perf_counter() - start, _sum_children() - before


def _sum_children() -> float:
    """Return the processor seconds of all child processes that have ended."""
    # `os.times` counts hundredths of a second, and help takes six of them.
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def call_python(*arguments: str, folder: object = ROOT, **environment: str) -> None:
    """Run this Python to its end, in the project or in another folder, or exit with its output if it fails."""
    command = [sys.executable, *arguments]
    process = subprocess.run(
        command, cwd=str(folder), env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{process.stdout}{process.stderr}")
