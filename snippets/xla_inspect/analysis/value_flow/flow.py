"""The values of a module, followed back and forth: through tuples, loops, fusions and what only renames them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis.value_flow.renaming import COPYING, PACKING, REWRITING, is_moved, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module

type Element = tuple[Instruction, tuple[int, ...]]
"""An instruction, and the element of its result, `()` being the whole result."""

_SLICING = frozenset({"dynamic-slice", "slice"})
_CALLING = frozenset({"call", "fusion"})
_EMPTY = frozenset({"broadcast", "custom-call"})
"""The initial value of a stack: filled with a number, or set aside."""
_BACKWARD = "transpose("
"""JAX's name for what differentiation added."""
_RESULT = ((), (1,))
"""The elements of an asynchronous start that are the result of its computation; the start itself stands for it too."""


@dataclass(frozen=True, slots=True)
class Maker:
    """The instruction that fills a value.

    Attributes:
        instruction: The instruction that computes it.
        loop: The loop that fills a stack of it, a slice in each iteration, or None.
    """

    instruction: Instruction
    loop: Instruction | None = None


class ValueFlow:
    """Follows the values of one module in both directions.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Look up the callers, once for all values."""
        self.module = module
        self.callers: dict[str, Instruction] = {}
        self._call_sites: dict[str, list[Instruction]] = {}
        for caller in module.walk():
            for name in caller.called:
                self.callers[name] = caller
                self._call_sites.setdefault(name, []).append(caller)
        self._kept: dict[Element, bool] = {}

    def find_origin(self, value: Instruction, *, whole: bool = False) -> Instruction:
        """Return the instruction that a value was made by: a parameter of the program, or what computes.

        What only moves a value is passed through, and slices of it too, as where a loop takes a layer's weights from
        those of all. The origin of a value that a loop hands on unchanged is its initial value.

        Args:
            value: The instruction whose result is asked about.
            whole: Whether a slice is something else than the value that it is cut from.
        """
        passing = REWRITING if whole else REWRITING | _SLICING
        place: Element | None = (value, ())
        while place is not None:
            value = place[0]
            place = self._step_back(place, lambda instruction: instruction.opcode in passing)
        return value

    def depends_on(self, value: Instruction, opcode: str) -> bool:
        """Return whether an instruction of some opcode is among those that a value is computed from."""
        return any(source.opcode == opcode for source, _ in search([_whole(value)], self._list_sources))

    def find_uses(self, value: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
        """Yield the instructions that compute with a value or cut it, each once, and the value as they take it.

        Args:
            value: The instruction whose result is asked about.
        """
        users = set()
        for place in search([_whole(value)], self._list_next):
            for user in self.module.users(place[0]):
                if user not in users and not self._is_opened(user) and not self._hand_on(user, place, REWRITING):
                    users.add(user)
                    # An element that is not this one is picked from the tuple.
                    if user.opcode != "get-tuple-element":
                        yield user, place[0]

    def find_maker(self, name: str, index: tuple[int, ...]) -> Maker | None:
        """Return what fills an element of an instruction's result, or None where the module has no such instruction.

        Args:
            name: The instruction's name.
            index: The element of its result.
        """
        instruction = self._named.get(name)
        if instruction is None:
            return None
        maker = self._trace_maker((instruction, index))
        if maker.instruction.opcode not in _EMPTY:
            return maker
        # What was set aside for a stack is filled by a loop's step.
        places = search([_whole(maker.instruction)], self._list_ways)
        fillings = (self._trace_maker(place) for place in places if place[0].opcode == "while")
        return next((filling for filling in fillings if filling.loop is not None), maker)

    def feeds_backward(self, name: str, index: tuple[int, ...]) -> bool:
        """Return whether a value of the forward pass is read by what differentiation added."""
        instruction = self._named.get(name)
        starts: list[Element] = [] if instruction is None else [(instruction, index)]
        return any(
            way is None and any(_BACKWARD in (part.op_name or "") for part in self._open(user))
            for place in search(starts, self._list_ways)
            for user, way in self._list_takers(place)
        )

    @cached_property
    def _named(self) -> Mapping[str, Instruction]:
        """The instructions by name; where several share one, the one that is in no fusion."""
        fused = {name for caller in self.module.walk() if caller.opcode == "fusion" for name in caller.called}
        fused_first = sorted(self.module.computations, key=lambda computation: computation.name not in fused)
        return {instruction.name: instruction for computation in fused_first for instruction in computation}

    def _list_sources(self, value: Element) -> list[Element]:
        """Return the values that a value is the same as, or else those that it is computed from."""
        same = self._list_same(value)
        is_choice = value[0].opcode == "conditional"
        operands: list[Element] = [(operand, ()) for operand in self.module.operands(value[0])]
        return [*same, operands[0]] if is_choice else same or operands

    def _list_same(self, value: Element) -> list[Element]:
        """Return the values, one of which a value is, none where an operation makes it."""
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
                same = [(called.root, index) for called in self.module.called(instruction)]
            case "async-start" if index[:1] in _RESULT:
                same = [(called.root, index[1:]) for called in self.module.called(instruction)]
            case "async-update":
                same = [(operands[0], index)]
            case "async-done":
                same = [(operands[0], (1, *index))]
        return same

    def _list_arguments(self, value: Element) -> list[Element]:
        """Return the values that the callers of a computation give for a parameter of it, each once."""
        parameter, index = value
        number = parameter.parameter_number or 0
        sources: list[Element] = []
        for caller in self._call_sites.get(parameter.computation, ()):
            operands = self.module.operands(caller)
            if caller.opcode == "while":
                sources += self._list_same((caller, index))
            elif caller.opcode == "conditional":
                branch = 1 + caller.called.index(parameter.computation)
                sources += [(operand, index) for operand in operands[branch : branch + 1]]
            elif (caller.opcode in _CALLING or caller.opcode == "async-start") and number < len(operands):
                sources.append((operands[number], index))
        return [*dict.fromkeys(sources)]

    def _step_back(
        self, value: Element, is_same: Callable[[Instruction], bool], *, into_loops: bool = False
    ) -> Element | None:
        """Return the one value that another is, or None where that is computed or may be one of several.

        Args:
            value: The value.
            is_same: Whether the result of an instruction counts as its first operand.
            into_loops: Whether the result of a loop is what its last iteration leaves.
        """
        instruction, index = value
        loop = self._find_carrier(instruction)
        if loop is not None:
            start, end = self._list_same((loop, index))
            return start if self._is_kept(loop, index) else end if into_loops else None
        same = self._list_same(value)
        if same or not is_same(instruction):
            return same[0] if len(same) == 1 else None
        rest = () if instruction.opcode == "copy-start" else index
        return next(((operand, rest) for operand in self.module.operands(instruction)), None)

    def _find_carrier(self, instruction: Instruction) -> Instruction | None:
        """Return the loop that carries the values of an instruction: itself, or the one whose parameter it is."""
        caller = self.callers.get(instruction.computation) if instruction.opcode == "parameter" else instruction
        return caller if caller is not None and caller.opcode == "while" else None

    def _is_kept(self, loop: Instruction, index: tuple[int, ...]) -> bool:
        """Return whether the body of a loop returns an element of what it carries as it was."""
        if (loop, index) not in self._kept:
            body = self._body(loop)
            place: Element | None = (body.root, index)
            while place is not None and (place[0].opcode, place[0].computation) != ("parameter", body.name):
                place = self._step_back(place, lambda instruction: instruction.opcode in COPYING)
            self._kept[loop, index] = place is not None and place[1] == index
        return self._kept[loop, index]

    def _trace_maker(self, value: Element) -> Maker:
        loop, seen = None, set[Element]()
        following: Element | None = value
        while following is not None and following not in seen:
            value = following
            seen.add(value)
            instruction = value[0]
            if instruction.opcode == "dynamic-update-slice":
                loop = loop or self._find_loop(instruction)
                following = self.module.operands(instruction)[1], ()
            else:
                following = self._step_back(value, is_moved, into_loops=True)
        maker = value[0]
        caller = self.callers.get(maker.computation)
        is_unnamed = caller is not None and caller.opcode == "fusion" and not maker.op_name
        return Maker(caller if caller is not None and is_unnamed else maker, loop)

    def _find_loop(self, instruction: Instruction) -> Instruction | None:
        """Return the loop in whose body an instruction runs, the nearest, or None."""
        caller = self.callers.get(instruction.computation)
        while caller is not None and caller.opcode != "while":
            caller = self.callers.get(caller.computation)
        return caller

    def _body(self, loop: Instruction) -> Computation:
        return self.module.computation(loop.calls["body"][0])

    def _hand_on(self, user: Instruction, value: Element, passing: frozenset[str]) -> list[Element]:
        """Return the values that a user's result holds a value as, none where it computes with it."""
        instruction, index = value
        if user.opcode == "get-tuple-element":
            number = int(user.attributes["index"])
            return [(user, index[1:])] if not index or index[0] == number else []
        if user.opcode == "tuple":
            return [(user, (at, *index)) for at, name in enumerate(user.operands) if name == instruction.name]
        return [(user, index)] if user.opcode in passing or user.opcode.endswith("-done") else []

    def _is_opened(self, user: Instruction) -> bool:
        return bool(user.called) and (user.opcode in _CALLING or user.opcode == "async-start")

    def _list_next(self, value: Element) -> Iterator[Element]:
        """Yield the values that a value is elsewhere: handed on, in what is called with it, and returned by that."""
        instruction, index = value
        caller = self.callers.get(instruction.computation)
        if instruction.is_root and caller is not None and self._is_opened(caller):
            yield caller, index
        for user in self.module.users(instruction):
            if self._is_opened(user):
                parameters = self.module.called(user)[0].parameters
                pairs = zip(parameters, user.operands, strict=False)
                yield from ((parameter, index) for parameter, name in pairs if name == instruction.name)
            else:
                yield from self._hand_on(user, value, REWRITING)

    def _list_takers(self, value: Element) -> Iterator[tuple[Instruction, Element | None]]:
        """Yield the users of a value, with the value that it goes on as, or with None where they compute with it."""
        instruction, index = value
        for user in self.module.users(instruction):
            if user.opcode in COPYING | PACKING:
                yield from ((user, way) for way in self._hand_on(user, value, COPYING))
            elif user.opcode == "while":
                yield user, (user, index)
                yield user, (self._body(user).parameters[0], index)
            elif not any(part.op_name for part in self._open(user)):
                # The compiler's own, which moves what it takes into another order.
                yield user, (user, ())
            else:
                yield user, None
        # What a body returns is what its loop yields.
        caller = self.callers.get(instruction.computation)
        if instruction.is_root and caller is not None and caller.opcode == "while":
            yield caller, (caller, index)

    def _list_ways(self, value: Element) -> list[Element]:
        return [way for _, way in self._list_takers(value) if way]

    def _open(self, instruction: Instruction) -> Iterator[Instruction]:
        yield instruction
        if instruction.opcode == "fusion":
            for computation in self.module.called(instruction):
                yield from computation


def _whole(instruction: Instruction) -> Element:
    return instruction, ()
