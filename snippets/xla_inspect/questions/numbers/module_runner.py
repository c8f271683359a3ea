"""The modules of a capture, and their runs on this machine's CPU with the same inputs."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import COLLECTIVE_KINDS
from xla_inspect.errors import InspectError
from xla_inspect.evaluation import FACTOR_BITS
from xla_inspect.plural import plural
from xla_inspect.questions.numbers.module_part import return_values
from xla_inspect.targets import find_entry, lane

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from xla_inspect.captured import Capture
    from xla_inspect.evaluation import Evaluator
    from xla_inspect.hlo import Module
    from xla_inspect.questions.numbers.array_difference import Results
    from xla_inspect.questions.numbers.device_layout import DeviceLayout

log = logging.getLogger(__name__)

LAST = "after the last recorded pass"
"""The name of the step to the optimized module, if that differs from the module after the last recorded pass."""

MOST_VALUES = 1 << 28
"""The largest number of bytes of all values of a module that are compared one by one."""

_SLOW, _OFTEN = 2.0, 10.0
_SUBNORMAL = re.compile(r"\b\d[\d.]*e-(?:3[89]|4[0-5]|3[012]\d)\b")
_WITHOUT_ARRAY = re.compile(r"-(?:start|update)$")

FIXED = frozenset({"constant", "iota", "parameter", "partition-id", "replica-id"})
"""The operations whose values no pass can change."""


@dataclass(frozen=True)
class ModuleStage:
    """A module of a compilation.

    Attributes:
        step: The pipeline and the pass that made it, as in `simplification/algsimp`; empty for the first one.
        text: Its text.
        module: The module.
        number: The number of the pass among those that changed the module, from 1; 0 for the module before them.
    """

    step: str
    text: str
    module: Module
    number: int


def list_stages(capture: Capture) -> Iterator[ModuleStage]:
    """Yield the modules of a capture in order, without those that equal the one before."""
    previous = capture.before
    if previous:
        yield ModuleStage("", previous, capture.unoptimized_module, 0)
    for number, change in enumerate(capture.passes, 1):
        if change.text != previous:
            yield ModuleStage(f"{change.pipeline}/{change.name}".strip("/"), change.text, change.module, number)
        previous = change.text
    # XLA prints the numbers of the optimized module that are too small for normal ones as zeros.
    texts = [_SUBNORMAL.sub("0", text) for text in (capture.after, previous)]
    if capture.after and texts[0] != texts[1]:
        yield ModuleStage(LAST if previous else "", capture.after, capture.module, len(capture.passes) + 1)


def list_shapes(module: Module) -> list[str]:
    """Return the shapes of a module's parameters and of its result."""
    return [instruction.shape.plain for instruction in (*module.entry.parameters, module.entry.root)]


class ModuleRunner:
    """A runner of the modules of one program with the same inputs; without a layout, each device gets whole arrays.

    Attributes:
        arrays: The array of each parameter.
        notes: A sentence for each result whose copies on several devices differed.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        target: str,
        arrays: Sequence[np.ndarray[Any, Any]],
        devices: int,
        layout: DeviceLayout | None = None,
    ) -> None:
        """Store the arguments, and cut them into those of each device."""
        self._evaluator, self._layout = evaluator, layout
        self.arrays = arrays
        self._devices = devices
        self.notes: dict[int, str] = {}
        # A TPU's compiler may add bfloat16 numbers in float32.
        self.is_cpu, self.rounds_sums = lane(target) == "cpu", lane(target) != "tpu"
        self._factor_bits, self._rounds_factors = FACTOR_BITS.get(find_entry(target).platform), False
        self._begin = self._noted = time.monotonic()
        self._runs = 0

    def is_whole(self, module: Module) -> bool:
        """Return whether a module has the shapes of the whole program, and others have those of a device's part."""
        return self._layout is not None and self._layout.is_whole(module)

    def divide(self, arrays: Sequence[np.ndarray[Any, Any]], module: Module) -> Results:
        """Return the arrays of each parameter of a module by device."""
        if self._layout is None:
            return [[array] * self._devices for array in arrays]
        if not self.is_whole(module):
            return [tiling.cut(array) for tiling, array in zip(self._layout.parameters, arrays, strict=True)]
        # A part that is written for each device needs all devices, otherwise one device computes the same.
        is_split = any(
            instruction.opcode.startswith((*COLLECTIVE_KINDS, "partition-id"))
            or "manual" in instruction.attributes.get("sharding", "")
            for instruction in module.walk()
        )
        return [[array] * (self._devices if is_split else 1) for array in arrays]

    def run(self, module: Module, step: str = "") -> Results:
        """Run the module after a step, and return the arrays of each result by device, or with a layout each whole one.

        Raises:
            InspectError: The module did not run, with the reason.
        """
        results = self.run_part(module, self.divide(self.arrays, module))
        if self._layout is None or len(results) != len(self._layout.results):
            return results
        wholes = []
        for number, shards in enumerate(results):
            whole, others = self._layout.join(number, shards)
            if others:
                devices = plural(len(others), "device has", "devices have")
                name = step.removeprefix("after ") or "the import"
                self.notes.setdefault(
                    number,
                    f"After {name}, {devices} other values of output {number} than another device that "
                    "should have equal ones.",
                )
            wholes.append([whole])
        return wholes

    def run_with_rounded_factors(self, module: Module) -> Results:
        """Run a module as `run` does, but round the factors of products as the target's matrix units do.

        Raises:
            InspectError: The module did not run, with the reason.
        """
        self._rounds_factors = True
        try:
            return self.run(module)
        finally:
            self._rounds_factors = False

    def run_part(self, module: Module, arguments: Results) -> Results:
        """Run a module with other arguments, and return the arrays of each result by device.

        Raises:
            InspectError: The module did not run, with the reason.
        """
        self._note()
        for instruction in module.walk():
            if instruction.opcode == "constant" and "..." in (instruction.literal or ""):
                message = (
                    f"the value of the constant {instruction.name}, {instruction.shape.plain}, is not in the capture; "
                    "pass the array as an argument of the function"
                )
                raise InspectError(message)
        self._runs += 1
        bits = self._factor_bits if self._rounds_factors else None
        return self._evaluator.run(
            module, arguments, is_cpu=self.is_cpu, rounds_sums=self.rounds_sums, factor_bits=bits
        )

    def run_all_values(self, module: Module) -> Mapping[str, Sequence[np.ndarray[Any, Any]]]:
        """Run a module, and return the value of each array that its entry computation computes by name, on each device.

        Raises:
            InspectError: The values are too large, or the module did not run.
        """
        values = [
            instruction
            for instruction in module.entry
            if instruction.shape.is_array
            and instruction.opcode not in FIXED
            and not _WITHOUT_ARRAY.search(instruction.opcode)
        ]
        if sum(value.shape.bytes for value in values) > MOST_VALUES:
            message = "the values inside the program are too large to be compared one by one"
            raise InspectError(message)
        results = self.run_part(return_values(module, "all_values", values), self.divide(self.arrays, module))
        return dict(zip((value.name for value in values), results, strict=True))

    def _note(self) -> None:
        """Print the number of runs from time to time."""
        now = time.monotonic()
        if now - self._noted > (_OFTEN if self._noted > self._begin else _SLOW):
            self._noted = now
            log.info("%s of modules on this CPU, %.0f s", plural(self._runs, "run"), now - self._begin)
