"""What a compiler's verbose log costs: compiles that write it, beside the same compiles that write none."""

from __future__ import annotations

import os
import statistics
import time
from importlib import import_module
from inspect import getmodule
from typing import TYPE_CHECKING, Any, Protocol
from unittest.mock import patch

from common import say
from xla_inspect.compilation import LoggedProcess

if TYPE_CHECKING:
    from xla_inspect.jax_private import CompileCall

PROGRAMS = ("layer", "transformer_block", "transformer_block_grad")
TARGETS = ("cpu", "h100", "tpu-v5e")
LIMIT = 1.3
"""How many times the bare compile one that writes its log may take."""
MOST = 5_000_000
"""Bytes of log of one compile."""


class _Process(Protocol):
    def compile(self, call: CompileCall, target: str) -> str: ...


def measure(runs: int) -> None:
    """Compile each program for each target with the log and without, in pairs, and print the median ratios."""
    logged_compile: Any = getmodule(LoggedProcess)
    bare = logged_compile.LoggedProcess({})
    logged = logged_compile.LoggedProcess(
        logged_compile.list_variables(logged_compile.LEVELS, logged_compile.TPU_LEVELS)
    )
    for name in PROGRAMS:
        for target in TARGETS:
            call = _describe(name, target)
            for process in (bare, logged):
                process.compile(call, target)  # what the first compile loads is no part of it
            ratios = []
            for _ in range(runs):
                with_log, size = _time(logged, call, target)
                without, _ = _time(bare, call, target)
                ratios.append(with_log / without)
            say(
                f"{name}, {target}: {statistics.median(ratios):.2f} times the bare compile of {without:.2f} s "
                f"(at most {LIMIT}; {', '.join(f'{ratio:.2f}' for ratio in ratios)}), "
                f"{size:,} bytes of log (at most {MOST:,})"
            )


def _time(process: _Process, call: CompileCall, target: str) -> tuple[float, int]:
    """Return the seconds that a compile takes, and the bytes of log that it writes."""
    start = time.perf_counter()
    log = process.compile(call, target)
    return time.perf_counter() - start, len(log.encode())


def _describe(name: str, target: str) -> CompileCall:
    """Return what a capture with reasons asks the compiler for."""
    from xla_inspect import capture

    asked: list[CompileCall] = []

    def note(call: CompileCall, target: str) -> tuple[()]:
        del target
        asked.append(call)
        return ()

    module = import_module(f"programs.{name}")
    with (
        patch.object(getmodule(LoggedProcess), "collect_log", note),
        patch.dict(os.environ, {"XLA_INSPECT_CACHE": "off"}),
    ):
        capture(getattr(module, name), *module.EXAMPLE, target=target, passes=False, reasons=True)
    return asked[0]
