"""The evaluator: it runs HLO modules of any target on this machine's CPU, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.evaluation.array_file import read_arrays, write_arrays
from xla_inspect.evaluation.plain_module import write_plain
from xla_inspect.hlo import BITS
from xla_inspect.process import RUN_MODULE, Child, Limits, explain_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.evaluation.known_values import Shards
    from xla_inspect.hlo import Module

MOST_DEVICES = 8
"""The largest number of devices that are simulated."""

SECONDS = 60.0
"""The time after which a module is stopped."""

_GRACE = 10
"""Seconds after that time in which the process must have been stopped."""

_FATAL = re.compile(r"^F\d{4} .*?\] (.*)", re.MULTILINE)

EXPANDERS = (
    "all_to_all_decomposer",
    "async-collective-replacer",
    "batched_gather_scatter_normalizer",
    "batchnorm_expander",
    "bitcast_dtypes_expander",
    "call-inliner",
    "cholesky_expander",
    "conditional-canonicalizer",
    "convolution-canonicalization",
    "convolution-group-converter",
    "copy-insertion",
    "cse_barrier_expander",
    "dot_decomposer",
    "dynamic_padder",
    "eigh_expander",
    "flatten-call-graph",
    *sorted(f"float-normalization-{dtype}" for dtype in BITS if dtype.startswith(("f4", "f8", "s4", "u4"))),
    "gather_simplifier",
    "layout-assignment",
    "map-inline",
    "qr_expander",
    "rng-bit-generator-expander",
    "rng-expander",
    "scan_expander",
    "scatter_expander",
    "scatter_simplifier",
    "select_and_scatter_expander",
    "stochastic_convert_decomposer",
    "sub-byte-size-setter",
    "topk-decomposer",
    "triangular_solve_expander",
    "zero_sized_hlo_elimination",
)
"""The passes without which XLA's CPU client cannot run an operation; none of them simplifies or reorders arithmetic."""


_IDLE: dict[tuple[int, int], list[Evaluator]] = {}
"""The evaluators that no comparison uses, by the process that started them and their number of devices."""


class NotRunError(InspectError):
    """The error for a module that did not run on this CPU, with the reason."""


def write_runnable(
    module: Module, *, is_cpu: bool, rounds_sums: bool, factor_bits: int | None = None
) -> tuple[str, Sequence[str]]:
    """Return a module as text that this CPU can run, and the passes of XLA that it needs, as `Evaluator.run` does."""
    # Without the pass that assigns layouts, a custom call would read a matrix in the wrong order.
    opcodes = module.opcode_counts()
    fusions = is_cpu and "fusion" in opcodes and "custom-call" not in opcodes
    text = write_plain(module, fusions=fusions, rounds_sums=rounds_sums, factor_bits=factor_bits)
    kinds = {instruction.fusion_kind for instruction in module.walk()} - {None} if fusions else set()
    return text, [
        "copy-insertion",
        "sub-byte-size-setter",
        *["dot-library-rewriter"] * ("kCustom" in kinds),
    ] if kinds else EXPANDERS


class Evaluator(AbstractContextManager["Evaluator"]):
    """A process that runs modules one after another, and is started again after a crash.

    Each operation runs as a program of its own, unless an operation with the same operands ran before.

    Args:
        devices: The number of simulated devices, of which a module uses as many as its arguments have.
        seconds: The time after which a module is stopped.
    """

    def __init__(self, devices: int = 1, seconds: float = SECONDS) -> None:
        """Make the folder for the files; the process starts with the first module."""
        self.devices, self._seconds = devices, seconds
        self.folder = tempfile.TemporaryDirectory(prefix="xla_inspect_")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._child: Child | None = None

    def __exit__(self, *_: object) -> None:
        """End the process and remove the files."""
        if self._child is not None:
            self._child.end()
        self._errors.close()
        self.folder.cleanup()

    def run(
        self,
        module: Module,
        arguments: Sequence[Shards],
        *,
        is_cpu: bool = False,
        rounds_sums: bool = True,
        factor_bits: int | None = None,
    ) -> list[Shards]:
        """Run a module, and return the arrays of each result by device.

        Args:
            module: The module, whose result is an array or a tuple of arrays.
            arguments: The arrays of each parameter by device.
            is_cpu: Whether the CPU's own compiler made the module, and not that of another target.
            rounds_sums: As in `write_plain`.
            factor_bits: As in `write_plain`.

        Raises:
            UnknownOperationError: An operation's meaning is not known; the message names it.
            NotRunError: The module does not compile, crashes or takes too long here.
        """
        text, passes = write_runnable(module, is_cpu=is_cpu, rounds_sums=rounds_sums, factor_bits=factor_bits)
        return self.run_text(text, arguments, passes)

    def run_text(self, text: str, arguments: Sequence[Shards], passes: Sequence[str] = EXPANDERS) -> list[Shards]:
        """Run a module that needs no rewriting, otherwise as `run`."""
        devices = len(arguments[0]) if arguments else self.devices
        folder = Path(self.folder.name)
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "module").write_text(text, encoding="utf-8")
        write_arrays(folder / "arguments", [shard for shards in arguments for shard in shards])
        answer = self._ask({"devices": devices, "passes": list(passes)})
        if "error" in answer:
            raise NotRunError(answer["error"].replace(":\n", ": ", 1).partition("\n")[0])
        arrays = read_arrays(folder / "results")
        return [arrays[at : at + devices] for at in range(0, len(arrays), devices)]

    def _ask(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a task to the process, and return its answer, or an error that says why there is none."""
        start = time.monotonic()
        if self._child is not None:
            self._child.restart_clock()
            if self._child.excess or self._child.process.poll() is not None:
                # A process without a task is stopped after the same time.
                self._child.end()
                self._child = None
        if self._child is None:
            flags = f"--xla_force_host_platform_device_count={self.devices}"
            self._errors.truncate(self._errors.seek(0))
            self._child = Child(
                [sys.executable, "-P"],
                RUN_MODULE,
                ["xla_inspect.evaluation.module_worker", self.folder.name],
                variables={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "XLA_FLAGS": flags},
                errors=self._errors,
                limits=Limits(seconds=self._seconds),
            )
        self._child.restart_clock()
        self._child.send(json.dumps(task))
        if line := self._child.listen(self._seconds + _GRACE).strip():
            return dict(json.loads(line))
        code, excess, self._child = self._child.end(), self._child.excess, None
        if excess and time.monotonic() - start < self._seconds:
            # The process waited so long for a task that it was stopped just as this one arrived.
            return self._ask(task)
        if excess:
            return {"error": f"it took more than {self._seconds:.0f} seconds"}
        # XLA writes the check that failed before it ends the process.
        self._errors.seek(0)
        check = _FATAL.search(self._errors.read().decode(errors="replace"))
        return {"error": f"XLA crashed ({check[1] if check else explain_end(code)})"}


def take_evaluator(devices: int) -> Evaluator:
    """Return an idle evaluator with the values that it has computed before, or a new one."""
    idle = _IDLE.setdefault((os.getpid(), devices), [])
    return idle.pop() if idle else Evaluator(devices)


def return_evaluator(evaluator: Evaluator) -> None:
    """Make an evaluator of `take_evaluator` available again, without its files, which a command could not remove."""
    evaluator.folder.cleanup()
    _IDLE[os.getpid(), evaluator.devices].append(evaluator)
