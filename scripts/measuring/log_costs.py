"""The cost of a compiler's verbose log: compilations that write it, compared with those that do not."""

from __future__ import annotations

import os
from importlib import import_module
from inspect import getmodule
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from common import say
from measuring.paired_runs import print_ratios, time_work
from xla_inspect.compilation import LEVELS, LoggedProcess, list_variables

if TYPE_CHECKING:
    from xla_inspect.jax_private import CompileCall

PROGRAMS = ("layer", "transformer_block", "transformer_block_grad")
TARGETS = ("cpu", "h100", "tpu-v5e")
LIMIT = 1.3
"""The limit, printed but not enforced, for the ratio of a logged compilation's time to that of a bare one."""
MOST = 5_000_000
"""The limit, printed but not enforced, for the log of one compilation, in bytes."""


def time_logs(runs: int) -> None:
    """Compile programs with and without the log, in pairs; print the median ratio of the times and the log's size."""
    logged_compile: Any = getmodule(LoggedProcess)
    bare = LoggedProcess({})
    logged = LoggedProcess(list_variables(LEVELS, logged_compile.TPU_LEVELS))
    for name in PROGRAMS:
        for target in TARGETS:
            call = describe_compile(name, target)
            logs: list[str] = []
            ratios = []
            for run in range(runs + 1):
                with_log, _ = time_work(lambda: logs.append(logged.compile(call, target)))  # noqa: B023 - called at once
                without, _ = time_work(lambda: bare.compile(call, target))  # noqa: B023 - also called at once
                if run:  # the first compilation also loads what later ones reuse
                    ratios.append(with_log / without)
            print_ratios(f"{name}, {target}", ratios, "the bare compile", LIMIT)
            say(f"{name}, {target}: {len(logs[-1].encode()):,} bytes of log (at most {MOST:,})")


def describe_compile(name: str, target: str) -> CompileCall:
    """Return the call of the compiler that a capture with reasons would make; nothing is compiled."""
    from xla_inspect import capture

    calls: list[CompileCall] = []

    def note(call: CompileCall, target: str) -> tuple[()]:
        del target
        calls.append(call)
        return ()

    module = import_module(f"programs.{name}")
    # The wrapper records the call and compiles nothing; the cache is off so that the capture makes the call at all.
    with (
        patch.object(getmodule(LoggedProcess), "collect_log", note),
        patch.dict(os.environ, {"XLA_INSPECT_CACHE": "off"}),
    ):
        capture(getattr(module, name), *module.EXAMPLE, target=target, passes=False, reasons=True)
    return calls[0]
