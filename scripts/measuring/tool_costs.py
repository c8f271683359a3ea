"""The processor time of questions about one program, compared with JAX alone, and that of each command's help."""

from __future__ import annotations

import contextlib
import ctypes
import os
import statistics
import sys
from typing import TYPE_CHECKING

from measuring.paired_runs import call_python, print_ratios, time_work
from xla_inspect.commands import list_questions

if TYPE_CHECKING:
    from pathlib import Path

NAME = "transformer_block"
SUBJECT = f"snippets/programs/{NAME}.py:{NAME}"
QUESTIONS = ("memory", "summary", "collectives", "kernels", "passes", "why")
"""The questions about one function; `recompiles` is about a script."""

IMPORT = f"import programs.{NAME} as file"
COMPILE = f"import jax, programs.{NAME} as file; jax.jit(file.{NAME}).trace(*file.EXAMPLE).lower().compile()"

FIRST, AGAIN, HELP = 1.2, 1.1, 1.3
"""The largest ratios: of a first question to importing JAX, tracing and compiling; of a question about a program in
the cache to importing the user's file; and of a command's help to the cheapest help."""

_ADOPTING = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux's prctl.h."""


def time_tool(place: Path, runs: int) -> None:
    """Time each question with and without the program in the cache, and the help of each command, in paired runs."""
    cache = place / "tool"

    def ask(*words: str) -> None:
        call_python("-m", "xla_inspect", *words, XLA_INSPECT_CACHE=str(cache))
        _await_orphans()

    def ask_first(question: str) -> None:
        # The hash of the tool's own code stays, as on a machine where somebody has asked before.
        for file in cache.glob("*.gz"):
            file.unlink()
        ask(question, SUBJECT, "--target", "cpu")

    def time_bare(code: str) -> float:
        return time_work(lambda: call_python("-c", code, JAX_PLATFORMS="cpu"))[1]

    _adopt_orphans()
    ask("memory", SUBJECT, "--target", "cpu")
    for question in QUESTIONS:
        first, again = [], []
        for _ in range(runs):
            first.append(time_work(lambda: ask_first(question))[1] / time_bare(COMPILE))  # noqa: B023 - called at once
            second = time_work(lambda: ask(question, SUBJECT, "--target", "cpu"))[1]  # noqa: B023 - also called at once
            again.append(second / time_bare(IMPORT))
        print_ratios(f"{question}, first", first, "the bare compile", FIRST)
        print_ratios(f"{question}, again", again, "the bare import", AGAIN)
    _time_help(cache, runs)


def _adopt_orphans() -> None:
    """Make this process the parent of processes whose own parent ends first; Linux alone can do so.

    A question may start further compilers and end before them, and their time counts too.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPTING, 1)


def _await_orphans() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _time_help(cache: Path, runs: int) -> None:
    """Print the command whose help costs the most compared with the cheapest help of the same run."""
    ratios: dict[str, list[float]] = {name: [] for name in list_questions()}
    for _ in range(runs):
        times = {
            name: time_work(
                lambda: call_python("-m", "xla_inspect", name, "--help", XLA_INSPECT_CACHE=str(cache))  # noqa: B023 - as above
            )[1]
            for name in ratios
        }
        for name, seconds in times.items():
            ratios[name].append(seconds / min(times.values()))
    dearest = max(ratios, key=lambda name: statistics.median(ratios[name]))
    print_ratios(f"{dearest} --help, the dearest of {len(ratios)}", ratios[dearest], "the cheapest help", HELP)
