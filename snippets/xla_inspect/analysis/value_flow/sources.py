"""The sources of a module's values, traced through tuples, calls and loops to the computing instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.value_flow.renaming import COPYING, REWRITING, search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module

type Element = tuple[Instruction, tuple[int, ...]]
"""An instruction and the tuple index of an element in its result; `()` is the whole result."""

_SLICING = frozenset({"dynamic-slice", "slice"})
CALLING = frozenset({"call", "fusion"})
_RESULT = ((), (1,))
"""The tuple indices in an asynchronous start of its computation's result: the second element, or the whole start."""


class ValueSources:
    """The tracing of one module's values, from each value back to its sources.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Start without any traced values."""
        self.module = module
        self.callers: Mapping[str, Instruction] = {name: calling[-1] for name, calling in module.callers.items()}
        self._kept: dict[Element, bool] = {}
        self._shared: dict[tuple[Element, frozenset[str]], Element] = {}

    def find_origin(self, value: Instruction, *, whole: bool = False) -> Instruction:
        """Return the origin of a value: a parameter of the program, or the instruction that computes it.

        The search passes through instructions that only move a value and through slices, for example if a loop takes
        one layer's weights from the weights of all layers. The origin of a value that a loop passes on unchanged is its
        initial value.

        Args:
            value: The instruction that produces the value.
            whole: Whether the search stops at slices.
        """
        return self._trace_origin(whole_of(value), REWRITING if whole else REWRITING | _SLICING)[0]

    def _trace_origin(self, value: Element, passing: frozenset[str]) -> Element:
        following: Element | None = value
        while following is not None:
            value = following
            following = self._step_back(value, lambda instruction: instruction.opcode in passing)
        if value[0].opcode != "parameter" or self._find_carrier(value[0]):
            return value
        if (value, passing) not in self._shared:
            # If a computation is called several times, its parameter has an origin only if all calls agree on it.
            origins = {self._trace_origin(source, passing) for source in self._list_arguments(value)}
            self._shared[value, passing] = origins.pop() if len(origins) == 1 else value
        return self._shared[value, passing]

    def depends_on(self, value: Instruction, opcode: str) -> bool:
        """Return whether an instruction of some opcode produces a value, or one from which the value is computed."""
        return any(source.opcode == opcode for source, _ in search([whole_of(value)], self._list_sources))

    def _list_sources(self, value: Element) -> list[Element]:
        """Return the values that a value is equal to, or else the values that it is computed from."""
        same = self._list_same(value)
        is_choice = value[0].opcode == "conditional"
        operands: list[Element] = [(operand, ()) for operand in self.module.operands(value[0])]
        # The predicate decides which branch runs, so the result depends on it too.
        return [*same, operands[0]] if is_choice else same or operands

    def _list_same(self, value: Element) -> list[Element]:
        """Return the only values that a value can be equal to; empty if an operation computes the value."""
        instruction, index = value
        operands = self.module.operands(instruction)
        same: list[Element] = []
        match instruction.opcode:
            case "parameter":
                same = self._list_arguments(value)
            case "get-tuple-element":
                same = [(operands[0], (int(instruction.attributes.get("index", "0")), *index))]
            case "tuple" if index and index[0] < len(operands):
                same = [(operands[index[0]], index[1:])]
            case "while":
                same = [(operands[0], index), (self._body(instruction).root, index)]
            case "call" | "conditional" | "fusion":
                same = [(callees.root, index) for callees in self.module.called(instruction)]
            case "async-start" if index[:1] in _RESULT:
                same = [(callees.root, index[1:]) for callees in self.module.called(instruction)]
            case "async-update":
                same = [(operands[0], index)]
            case "async-done":
                # A start returns its operands first and the result of its computation second.
                same = [(operands[0], (1, *index))]
        return same

    def _list_arguments(self, value: Element) -> list[Element]:
        """Return the distinct values that the callers of a computation pass for one of its parameters."""
        parameter, index = value
        number = parameter.parameter_number or 0
        sources: list[Element] = []
        for caller in self.module.callers.get(parameter.computation, ()):
            operands = self.module.operands(caller)
            if caller.opcode == "while":
                sources += self._list_same((caller, index))
            elif caller.opcode == "conditional":
                # The first operand selects the branch, and each branch has one of the operands after it.
                branch = 1 + caller.called.index(parameter.computation)
                sources += [(operand, index) for operand in operands[branch : branch + 1]]
            elif (caller.opcode in CALLING or caller.opcode == "async-start") and number < len(operands):
                sources.append((operands[number], index))
        return [*dict.fromkeys(sources)]

    def _step_back(
        self, value: Element, is_same: Callable[[Instruction], bool], *, into_loops: bool = False
    ) -> Element | None:
        """Return the one value that a value is equal to, or None if it is computed or may be one of several.

        Args:
            value: The value to trace.
            is_same: Whether the result of an instruction counts as its first operand.
            into_loops: Whether to trace the result of a loop to its last iteration.
        """
        instruction, index = value
        loop = self._find_carrier(instruction)
        if loop is not None:
            start, end = self._list_same((loop, index))
            return start if self._is_kept(loop, index) else end if into_loops else None
        same = self._list_same(value)
        if same or not is_same(instruction):
            return same[0] if len(same) == 1 else None
        # The start of a copy returns a tuple, but its operand is the copied array.
        rest = () if instruction.opcode == "copy-start" else index
        return next(((operand, rest) for operand in self.module.operands(instruction)), None)

    def _find_carrier(self, instruction: Instruction) -> Instruction | None:
        """Return the loop that carries an instruction's values: itself, or the loop whose parameter it is; or None."""
        caller = self.callers.get(instruction.computation) if instruction.opcode == "parameter" else instruction
        return caller if caller is not None and caller.opcode == "while" else None

    def _is_kept(self, loop: Instruction, index: tuple[int, ...]) -> bool:
        """Return whether the body of a loop returns an element of its state unchanged."""
        if (loop, index) not in self._kept:
            body = self._body(loop)
            # Trace the element backward through the body; an unchanged element ends at the same element of the
            # parameter.
            place: Element | None = (body.root, index)
            while place is not None and (place[0].opcode, place[0].computation) != ("parameter", body.name):
                place = self._step_back(place, lambda instruction: instruction.opcode in COPYING)
            self._kept[loop, index] = place is not None and place[1] == index
        return self._kept[loop, index]

    def _find_loop(self, instruction: Instruction) -> Instruction | None:
        """Return the innermost loop whose body runs an instruction, or None."""
        caller = self.callers.get(instruction.computation)
        while caller is not None and caller.opcode != "while":
            caller = self.callers.get(caller.computation)
        return caller

    def _body(self, loop: Instruction) -> Computation:
        return self.module.computation(loop.calls["body"][0])


def whole_of(instruction: Instruction) -> Element:
    """Return the whole result of an instruction."""
    return instruction, ()
