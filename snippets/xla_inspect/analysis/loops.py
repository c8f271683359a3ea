"""The trip counts of loops: from the compiler's configuration, or derived from counter, step and bound.

The compilers for CPU and GPU write the trip count into a loop's backend config; the one for TPU does not.
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
"""What `a compared with b` says of b compared with a."""

_LIMIT = 400
"""Operations that are read for one loop at most; beyond them its trips are not known."""

_WHOLE = -1
"""The element that a loop carries where it carries no tuple."""


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number, or a whole number that is added to an argument of a computation.

    Attributes:
        added: The number.
        element: Which element of what the computation is given, or None for the number alone.
    """

    added: int
    element: int | None = None


type Given = Callable[[int], Number | None] | None
"""What the parameters of a fusion are, by their numbers; None in a computation whose parameter stays unknown."""


class Loops:
    """The trip counts of a module's loops, each computed once.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Count nothing yet."""
        self.module = module
        self._known: dict[Instruction, int | None] = {}
        self._runs: dict[str, int | None] = {module.entry.name: 1}
        self._left = 0

    def count_trips(self, loop: Instruction) -> int | None:
        """Return how often a `while` runs its body, or None where that is not known before it runs."""
        if loop not in self._known:
            text = read_config(loop).get("known_trip_count")
            told = str(text.get("n", "")) if isinstance(text, dict) else ""
            self._left = _LIMIT
            self._known[loop] = int(told) if told.isdecimal() else self._derive(loop)
        return self._known[loop]

    def count_calls(self, caller: Instruction, computation: str) -> int | None:
        """Return how often an instruction runs a computation that it calls, or None where that is not known."""
        if caller.opcode == "conditional":
            return None
        trips = self.count_trips(caller) if caller.opcode == "while" else 1
        # The condition is asked once more, to end the loop.
        return None if trips is None else trips + (computation in caller.calls.get("condition", ()))

    def count_runs(self, computation: str) -> int | None:
        """Return how often a computation runs, called from wherever it is, or None where that is not known."""
        if computation not in self._runs:
            calls = [
                (self.count_runs(caller.computation), self.count_calls(caller, computation))
                for caller in self.module.callers.get(computation, ())
            ]
            known = [around * times for around, times in calls if around is not None and times is not None]
            self._runs[computation] = sum(known) if known and len(known) == len(calls) else None
        return self._runs[computation]

    def _derive(self, loop: Instruction) -> int | None:
        """Return the trip count of a loop from the start, step and bound of its counter."""
        compared = self._find_comparison(loop)
        if compared is None:
            return None
        direction, counter, bound = compared
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
        """Return the direction and the two sides of the comparison that a loop goes on by, or None."""
        root, given = self.module.computation(loop.calls["condition"][0]).root, None
        while True:
            if root.opcode in _CALLING and root.called:
                given = self._bind(root, given)
                root = self.module.computation(root.called[0]).root
            elif root.opcode in _SAME_NUMBER and root.operands:
                root = self.module.operands(root)[0]
            else:
                break
        if root.opcode != "compare":
            return None
        left, right = (self._read(operand, None, given) for operand in self.module.operands(root))
        return None if left is None or right is None else (root.attributes.get("direction", ""), left, right)

    def _start(self, loop: Instruction, number: Number) -> int | None:
        """Return the value of a number in the first iteration of a loop, or None if it is unknown."""
        if number.element is None:
            return number.added
        before = self.module.operands(loop)[0]
        result = self._read(before, None if number.element == _WHOLE else number.element, None)
        if result is None or result.element is None:
            return None if result is None else number.added + result.added
        around = self.module.callers.get(before.computation, ())
        # What a loop around keeps as it is, is what that began with.
        if not around or around[-1].opcode != "while" or not self._is_kept(around[-1], result.element):
            return None
        outer = self._start(around[-1], result)
        return None if outer is None else number.added + outer

    def _is_kept(self, loop: Instruction, element: int) -> bool:
        return self._end(loop, element) == Number(0, element)

    def _end(self, loop: Instruction, element: int) -> Number | None:
        """Return the value of an element that a loop carries after one iteration."""
        root = self.module.computation(loop.calls["body"][0]).root
        return self._read(root, None if element == _WHOLE else element, None)

    def _bind(self, caller: Instruction, given: Given) -> Given:
        operands = self.module.operands(caller)
        return lambda number: self._read(operands[number], None, given) if number < len(operands) else None

    def _read(self, at: Instruction, index: int | None, given: Given) -> Number | None:  # noqa: PLR0911 - one for each opcode
        """Return the whole number that an instruction, or an element of its result, is, or None."""
        while at.opcode in _SAME_NUMBER and at.operands:
            at = self.module.operands(at)[0]
        self._left -= 1
        if self._left < 0:
            return None
        if at.opcode == "constant":
            is_whole = at.shape.dtype[:1] in {"s", "u"} and _INTEGER.fullmatch(at.literal or "")
            return Number(int(at.literal or "")) if is_whole else None
        if at.opcode == "parameter":
            if given is not None:
                return given(at.parameter_number or 0) if index is None else None
            return Number(0, _WHOLE if index is None else index)
        operands = self.module.operands(at)
        if at.opcode == "get-tuple-element" and index is None:
            return self._read(operands[0], int(at.attributes["index"]), given)
        if at.opcode == "tuple" and index is not None:
            return self._read(operands[index], None, given)
        if at.opcode in _CALLING and at.called:
            return self._read(self.module.computation(at.called[0]).root, index, self._bind(at, given))
        if at.opcode in {"add", "subtract"}:
            left, right = (self._read(operand, None, given) for operand in operands)
            return _add(left, right) if at.opcode == "add" else _add(left, _negate(right))
        return None


def divide(direction: str, distance: int, step: int) -> int | None:
    """Return how often a counter that starts at 0 moves by a step before a comparison with a distance fails.

    Args:
        direction: `LT`, `LE`, `GT`, `GE` or `NE`, between the counter and the distance.
        distance: The number that the counter is compared with.
        step: The number that is added to the counter in each iteration.

    Returns:
        The number, or None where it never fails, or is of another kind.
    """
    if direction in {"GT", "GE"}:
        direction, distance, step = _TURNED[direction], -distance, -step
    if direction == "NE":
        return distance // step if step and distance % step == 0 and distance // step >= 0 else None
    if direction not in {"LT", "LE"}:
        return None
    distance += direction == "LE"
    if distance <= 0:
        return 0
    return -(-distance // step) if step > 0 else None


def read_config(instruction: Instruction) -> Mapping[str, Any]:
    """Return the backend config of an instruction, or an empty mapping if there is none that can be read."""
    text = instruction.backend_config
    try:
        config = json.loads(text) if text else {}
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def _add(left: Number | None, right: Number | None) -> Number | None:
    if left is None or right is None or (left.element is not None and right.element is not None):
        return None
    return Number(left.added + right.added, right.element if left.element is None else left.element)


def _negate(number: Number | None) -> Number | None:
    return None if number is None or number.element is not None else Number(-number.added)
