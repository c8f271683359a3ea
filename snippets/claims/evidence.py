"""What the checks look at: captures, each made once, and what happens when JAX runs a program here."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import jax

from programs import rewrites
from xla_inspect import capture_all
from xla_inspect.analysis import find_fate, list_kernels
from xla_inspect.compilation import list_program_members, recall_text
from xla_inspect.plural import plural
from xla_inspect.report import title
from xla_inspect.targets import USUAL, find_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis import Fate

TRACED = "/jax/core/compile/jaxpr_trace_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"


@cache
def program(name: str, member: str = "", targets: tuple[str, ...] = USUAL) -> Captures:
    """Return a program of `snippets/programs`, or a member of a family there, compiled for targets."""
    member_program = list_program_members(importlib.import_module(f"programs.{name}"), name)[member]
    return capture_all(member_program.function, *member_program.example, targets=targets)


@cache
def rewrite(name: str, dtype: str) -> Mapping[str, Fate]:
    """Return what became of one rewrite of `programs.rewrites` on each target, in one element type."""
    member, opcodes, goal = rewrites.REWRITES[name]
    function, example = rewrites.typed(member, dtype)
    captures = capture_all(function, *example)
    return {target: find_fate(captures[target], opcodes, goal) for target in captures.targets}


def expect(holds: bool, what: str) -> None:  # noqa: FBT001 - a statement and its truth
    """Hold a check to what it takes for granted, or what the true statement beside the claim says.

    Raises:
        AssertionError: It does not hold.
    """
    if not holds:
        raise AssertionError(what)


def name_kernels(capture: Capture) -> str:
    """Return the kernels of a program as in `2 kernels: kCustom, kLoop`."""
    kernels = list_kernels(capture)
    names = ", ".join(f"`{kernel.kind}`" for kernel in kernels)
    return f"{plural(len(kernels), 'kernel')}: {names}"


def pass_names(capture: Capture) -> list[str]:
    """Return the name of each pass in the order in which they ran, as often as each ran."""
    return [run.name for run in capture.runs]


def name_targets(targets: Mapping[str, object]) -> str:
    """Return targets by their titles, as in `CPU, TPU v5e`, or `none`."""
    return ", ".join(map(title, targets)) or "none"


def is_about(number: int, claimed: int) -> bool:
    """Whether a number rounds to the round one that is said of it: to fives below 20, to tens from there on."""
    step = 5 if claimed < 20 else 10  # noqa: PLR2004 - how people round
    return step * round(number / step) == claimed


@dataclass
class Watched:
    """What JAX reported while something ran.

    Attributes:
        traced: The name of each function that was traced.
        compiled: The name of each module that XLA compiled, as in `jit(matmul)`.
        compiling: Seconds for which XLA compiled.
    """

    traced: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    compiling: float = 0.0


@contextmanager
def watched() -> Iterator[Watched]:
    """Note what JAX traces and compiles in a `with` block."""
    seen = Watched()

    def listen(event: str, duration_secs: float, **about: str | int) -> None:
        if event == TRACED:
            seen.traced.append(str(about.get("fun_name", "")))
        elif event == COMPILED:
            seen.compiled.append(str(about.get("fun_name", "")))
            seen.compiling += duration_secs

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def clocked(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes until its result is there."""
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def run_python(code: str, **environment: str) -> str:
    """Run Python code in a process of its own, and return its exit status and what it printed, errors included.

    The answer is kept as captures are: starting JAX takes seconds.
    """
    versions = {"jax": jax.__version__, "jaxlib": find_version("jaxlib"), "python": sys.version}
    content = {"python code": code, "environment": environment, "versions": versions}
    return recall_text(content, lambda: run_code(code, **environment))


def run_code(code: str, **environment: str) -> str:
    """Do what `run_python` does, and keep nothing."""
    inherited = os.environ.copy()
    for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        inherited.pop(name, None)
    done = subprocess.run(  # noqa: S603 - this Python, and code of this package
        [sys.executable, "-c", code],
        env={**inherited, **environment},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return f"{done.returncode}\n{done.stdout}"


def names_in(text: str) -> Counter[str]:
    """Return how often each StableHLO or CHLO operation stands in a module's text."""
    words = text.replace('"', " ").split()
    return Counter(word for word in words if word.startswith(("stablehlo.", "chlo.")))
