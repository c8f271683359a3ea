"""The trip counts of loops: from the compiler's configuration, or derived from counter, step and bound.

The compilers for CPU and GPU write the trip count into a loop's backend config; the TPU compiler does not.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis.value_flow import COPYING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.hlo import Instruction, Module

STRUCTURE = frozenset({"while", "conditional", "call"})
"""Opcodes that run other computations as parts of the schedule."""

_SAME_NUMBER = COPYING | {"convert"}
_CALLING = frozenset({"call", "fusion"})
_INTEGER = re.compile(r"-?\d+")
_TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}
"""The direction of a comparison after its two sides are exchanged."""

_LIMIT = 400
"""The largest number of operations read for one loop; beyond it, the trip count is reported as unknown."""

_WHOLE = -1
"""The index used for a loop whose carry is not a tuple."""


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, or the sum of an integer and an element of a computation's argument.

    Attributes:
        added: The integer.
        element: The index of the element in the computation's argument, or None for the integer alone.
    """

    added: int
    element: int | None = None


type Given = Callable[[int], Number | None] | None
"""The values of a fusion's parameters by number, or None in a computation whose parameter is unknown."""


class Loops:
    """The trip counts of a module's loops, which are computed on demand and cached.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Start without any counts."""
        self.module = module
        self._known: dict[Instruction, int | None] = {}
        self._runs: dict[str, int | None] = {module.entry.name: 1}
        self._assumed: dict[str, int] = {module.entry.name: 1}
        self._left = 0

    def count_trips(self, loop: Instruction) -> int | None:
        """Return the trip count of a `while`, or None if it is unknown before the loop runs."""
        if loop not in self._known:
            text = read_config(loop).get("known_trip_count")
            number = str(text.get("n", "")) if isinstance(text, dict) else ""
            self._left = _LIMIT
            self._known[loop] = int(number) if number.isdecimal() else self._derive(loop)
        return self._known[loop]

    def count_calls(self, caller: Instruction, computation: str) -> int | None:
        """Return how often an instruction runs a computation that it calls, or None if the number is unknown."""
        if caller.opcode == "conditional":
            return None
        trips = self.count_trips(caller) if caller.opcode == "while" else 1
        # The condition runs once more than the body, because its last evaluation ends the loop.
        return None if trips is None else trips + (computation in caller.calls.get("condition", ()))

    def count_runs(self, computation: str) -> int | None:
        """Return how often a computation runs in total, for all of its callers, or None if the number is unknown."""
        if computation not in self._runs:
            calls = [
                (self.count_runs(caller.computation), self.count_calls(caller, computation))
                for caller in self.module.callers.get(computation, ())
            ]
            products = [around * times for around, times in calls if around is not None and times is not None]
            self._runs[computation] = sum(products) if products and len(products) == len(calls) else None
        return self._runs[computation]

    def count_assumed_runs(self, computation: str) -> int:
        """Return how often a computation runs in total if each loop or branch with an unknown number runs once."""
        if computation not in self._assumed:
            total = 0
            for caller in self.module.callers.get(computation, ()):
                times = self.count_calls(caller, computation)
                total += self.count_assumed_runs(caller.computation) * (1 if times is None else times)
            self._assumed[computation] = total
        return self._assumed[computation]

    def _derive(self, loop: Instruction) -> int | None:
        """Return the trip count of a loop from the start, step and bound of its counter, or None if one is unknown."""
        comparison = self._find_comparison(loop)
        if comparison is None:
            return None
        direction, counter, bound = comparison
        # The counter may be on either side of the comparison; the bound is the side that the body does not change.
        if counter.element is None or self._is_kept(loop, counter.element):
            direction, counter, bound = _TURNED.get(direction, ""), bound, counter
        if counter.element is None or not (bound.element is None or self._is_kept(loop, bound.element)):
            return None
        step = self._end(loop, counter.element)
        first, last = self._start(loop, counter), self._start(loop, bound)
        if step is None or step.element != counter.element or first is None or last is None:
            return None
        return divide(direction, last - first, step.added)

    def _find_comparison(self, loop: Instruction) -> tuple[str, Number, Number] | None:
        """Return the direction and both sides of a loop's comparison, or None if these are not two `Number` values."""
        root, arguments = self.module.computation(loop.calls["condition"][0]).root, None
        while True:
            if root.opcode in _CALLING and root.called:
                arguments = self._bind(root, arguments)
                root = self.module.computation(root.called[0]).root
            elif root.opcode in _SAME_NUMBER and root.operands:
                root = self.module.operands(root)[0]
            else:
                break
        if root.opcode != "compare":
            return None
        lhs, rhs = (self._read(operand, None, arguments) for operand in self.module.operands(root))
        return None if lhs is None or rhs is None else (root.attributes.get("direction", ""), lhs, rhs)

    def _start(self, loop: Instruction, number: Number) -> int | None:
        """Return the value of a number in the first iteration of a loop, or None if it is unknown."""
        if number.element is None:
            return number.added
        before = self.module.operands(loop)[0]
        initial = self._read(before, None if number.element == _WHOLE else number.element, None)
        if initial is None or initial.element is None:
            return None if initial is None else number.added + initial.added
        around = self.module.callers.get(before.computation, ())
        # An element that the surrounding loop never changes still has its initial value.
        if not around or around[-1].opcode != "while" or not self._is_kept(around[-1], initial.element):
            return None
        outer = self._start(around[-1], initial)
        return None if outer is None else number.added + outer

    def _is_kept(self, loop: Instruction, element: int) -> bool:
        return self._end(loop, element) == Number(0, element)

    def _end(self, loop: Instruction, element: int) -> Number | None:
        """Return the value of a loop's carried element after one iteration, or None if it is not a `Number`."""
        root = self.module.computation(loop.calls["body"][0]).root
        return self._read(root, None if element == _WHOLE else element, None)

    def _bind(self, caller: Instruction, arguments: Given) -> Given:
        operands = self.module.operands(caller)
        return lambda number: self._read(operands[number], None, arguments) if number < len(operands) else None

    def _read(self, at: Instruction, index: int | None, arguments: Given) -> Number | None:  # noqa: PLR0911 - one for each opcode
        """Return the `Number` that an instruction, or an element of its result, evaluates to; None if it is not one."""
        while at.opcode in _SAME_NUMBER and at.operands:
            at = self.module.operands(at)[0]
        # The budget bounds the work for one loop, whose definitions may be arbitrarily deep.
        self._left -= 1
        if self._left < 0:
            return None
        if at.opcode == "constant":
            is_whole = at.shape.dtype[:1] in {"s", "u"} and _INTEGER.fullmatch(at.literal or "")
            return Number(int(at.literal or "")) if is_whole else None
        if at.opcode == "parameter":
            if arguments is not None:
                return arguments(at.parameter_number or 0) if index is None else None
            return Number(0, _WHOLE if index is None else index)
        operands = self.module.operands(at)
        if at.opcode == "get-tuple-element" and index is None:
            return self._read(operands[0], int(at.attributes["index"]), arguments)
        if at.opcode == "tuple" and index is not None:
            return self._read(operands[index], None, arguments)
        if at.opcode in _CALLING and at.called:
            return self._read(self.module.computation(at.called[0]).root, index, self._bind(at, arguments))
        if at.opcode in {"add", "subtract"}:
            lhs, rhs = (self._read(operand, None, arguments) for operand in operands)
            return _add(lhs, rhs) if at.opcode == "add" else _add(lhs, _negate(rhs))
        return None


def divide(direction: str, distance: int, step: int) -> int | None:
    """Return how often a counter that starts at 0 moves by a step before a comparison with a distance fails.

    Args:
        direction: `LT`, `LE`, `GT`, `GE` or `NE`, between the counter and the distance.
        distance: The number that the counter is compared with.
        step: The number that is added to the counter in each iteration.

    Returns:
        The number of steps, or None if the comparison never fails or has another direction.
    """
    # A counter that counts down is mirrored, so that only the upward directions remain.
    if direction in {"GT", "GE"}:
        direction, distance, step = _TURNED[direction], -distance, -step
    # The counter has to hit the bound exactly; otherwise the loop would never end.
    if direction == "NE":
        return distance // step if step and distance % step == 0 and distance // step >= 0 else None
    if direction not in {"LT", "LE"}:
        return None
    # `LE` is `LT` with a bound that is larger by one.
    distance += direction == "LE"
    # The first comparison already fails, so the body never runs.
    if distance <= 0:
        return 0
    return -(-distance // step) if step > 0 else None


def read_config(instruction: Instruction) -> Mapping[str, Any]:
    """Return the backend config of an instruction, or an empty mapping if it has none in JSON."""
    text = instruction.backend_config
    try:
        config = json.loads(text) if text else {}
    # The config of some opcodes is plain text and not JSON.
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def _add(lhs: Number | None, rhs: Number | None) -> Number | None:
    # The sum of two elements has no form as one element plus an integer.
    if lhs is None or rhs is None or (lhs.element is not None and rhs.element is not None):
        return None
    return Number(lhs.added + rhs.added, rhs.element if lhs.element is None else lhs.element)


def _negate(number: Number | None) -> Number | None:
    return None if number is None or number.element is not None else Number(-number.added)
