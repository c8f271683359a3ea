"""The evidence for the checks: captures, each made once, events and durations in JAX, and outputs of processes."""

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


# Many claims are about the same program, so its captures are shared.
@cache
def program(name: str, member: str = "", targets: tuple[str, ...] = USUAL) -> Captures:
    """Return the captures, by target, of a program of `snippets/programs`: the module `name`, or its entry `member`."""
    member_program = list_program_members(importlib.import_module(f"programs.{name}"), name)[member]
    return capture_all(member_program.function, *member_program.example, targets=targets)


@cache
def rewrite(name: str, dtype: str) -> Mapping[str, Fate]:
    """Return, by target, if a rewrite of `programs.rewrites` happens in an element type, and the pass that makes it."""
    member, opcodes, goal = rewrites.REWRITES[name]
    function, example = rewrites.typed(member, dtype)
    captures = capture_all(function, *example)
    return {target: find_fate(captures[target], opcodes, goal) for target in captures.targets}


def expect(holds: bool, what: str) -> None:  # noqa: FBT001 - a statement and its truth
    """Assert an assumption of a check, or a part of the true statement next to the claim.

    Raises:
        AssertionError: The assumption is wrong.
    """
    if not holds:
        raise AssertionError(what)


def name_kernels(capture: Capture) -> str:
    """Return the kernels of a program in words, such as `2 kernels: kCustom, kLoop`."""
    kernels = list_kernels(capture)
    names = ", ".join(f"`{kernel.kind}`" for kernel in kernels)
    return f"{plural(len(kernels), 'kernel')}: {names}"


def pass_names(capture: Capture) -> list[str]:
    """Return the name of each pass run, in order."""
    return [run.name for run in capture.runs]


def name_targets(targets: Mapping[str, object]) -> str:
    """Return the titles of targets, such as `CPU, TPU v5e`, or `none`."""
    return ", ".join(map(title, targets)) or "none"


def is_about(number: int, claimed: int) -> bool:
    """Return True if a number rounds to the claimed round number: to fives below 20, else to tens."""
    step = 5 if claimed < 20 else 10  # noqa: PLR2004 - how people round
    return step * round(number / step) == claimed


@dataclass
class Watched:
    """The events that JAX reported during a block of code.

    Attributes:
        traced: The names of the functions that JAX traced.
        compiled: The names of the modules that XLA compiled, such as `jit(matmul)`.
        compiling: The seconds that XLA spent compiling.
    """

    traced: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    compiling: float = 0.0


@contextmanager
def watched() -> Iterator[Watched]:
    """Record the functions that JAX traces and the modules that XLA compiles in a `with` block."""
    events = Watched()

    def listen(event: str, duration_secs: float, **about: str | int) -> None:
        if event == TRACED:
            events.traced.append(str(about.get("fun_name", "")))
        elif event == COMPILED:
            events.compiled.append(str(about.get("fun_name", "")))
            events.compiling += duration_secs

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield events
    finally:
        # Listeners are global, so this one must not outlive the block.
        jax.monitoring.unregister_event_duration_listener(listen)


def clocked(call: Callable[[], object]) -> float:
    """Return the seconds until the result of a call is ready."""
    start = time.perf_counter()
    # JAX returns before the result is ready, so the clock has to wait for it.
    jax.block_until_ready(call())
    return time.perf_counter() - start


def run_python(code: str, **environment: str) -> str:
    """Run Python code in a separate process, and return its exit status and output, including errors.

    The result is cached like a capture, because starting JAX takes seconds.
    """
    versions = {"jax": jax.__version__, "jaxlib": find_version("jaxlib"), "python": sys.version}
    content = {"python code": code, "environment": environment, "versions": versions}
    return recall_text(content, lambda: run_code(code, **environment))


def run_code(code: str, **environment: str) -> str:
    """Run Python code like `run_python`, without caching the result."""
    inherited = os.environ.copy()
    # Flags of this process would change the result.
    for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        inherited.pop(name, None)
    process = subprocess.run(  # noqa: S603 - this Python, and code of this package
        [sys.executable, "-c", code],
        env={**inherited, **environment},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return f"{process.returncode}\n{process.stdout}"


def names_in(text: str) -> Counter[str]:
    """Return the number of occurrences of each StableHLO or CHLO operation in a module's text."""
    # MLIR's generic form encloses the name of an operation in quotes.
    words = text.replace('"', " ").split()
    return Counter(word for word in words if word.startswith(("stablehlo.", "chlo.")))
