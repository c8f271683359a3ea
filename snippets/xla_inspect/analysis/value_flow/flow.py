"""The flow of a module's values in both directions: through tuples, loops, fusions and renaming instructions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis.value_flow.renaming import COPYING, PACKING, REWRITING, is_moved, search
from xla_inspect.analysis.value_flow.sources import CALLING, Element, ValueSources, whole_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo import Instruction

_EMPTY = frozenset({"broadcast", "custom-call"})
"""The opcodes of an empty stack: filled with one number, or allocated without contents."""
_BACKWARD = "transpose("
"""The part of JAX's name that marks an operation of the backward pass."""


@dataclass(frozen=True, slots=True)
class Maker:
    """The instruction that fills a value.

    Attributes:
        instruction: The instruction that computes it.
        loop: The loop that fills a stack of such values, one slice per iteration, or None.
    """

    instruction: Instruction
    loop: Instruction | None = None


class ValueFlow(ValueSources):
    """The flow of one module's values, in both directions.

    Args:
        module: The module.
    """

    def find_uses(self, value: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
        """Yield each instruction that computes with a value or slices it, with the operand that is the value.

        Args:
            value: The instruction that produces the value.
        """
        # A value may reach the same user on several paths, but the user is yielded once.
        users = set()
        for place in search([whole_of(value)], self._list_next):
            for user in self.module.users(place[0]):
                if user not in users and not self._is_opened(user) and not self._hand_on(user, place, REWRITING):
                    users.add(user)
                    # A `get-tuple-element` that is left here selects a different element of the tuple.
                    if user.opcode != "get-tuple-element":
                        yield user, place[0]

    def find_maker(self, name: str, index: tuple[int, ...]) -> Maker | None:
        """Return the instruction that writes an element of a named instruction's result, or None for an unknown name.

        Args:
            name: The instruction's name.
            index: The tuple index of the element in its result.
        """
        instruction = self._named.get(name)
        if instruction is None:
            return None
        maker = self._trace_maker((instruction, index))
        if maker.instruction.opcode not in _EMPTY:
            return maker
        # An empty stack is filled by the steps of a loop, so look for that loop.
        places = search([whole_of(maker.instruction)], self._list_ways)
        fillings = (self._trace_maker(place) for place in places if place[0].opcode == "while")
        return next((filling for filling in fillings if filling.loop is not None), maker)

    def feeds_backward(self, name: str, index: tuple[int, ...]) -> bool:
        """Return whether an operation of the backward pass reads an element of a named instruction's result.

        Args:
            name: The instruction's name; the result is False for an unknown name.
            index: The tuple index of the element in its result.
        """
        instruction = self._named.get(name)
        starts: list[Element] = [] if instruction is None else [(instruction, index)]
        return any(
            way is None and any(_BACKWARD in (part.op_name or "") for part in self._open(user))
            for place in search(starts, self._list_ways)
            for user, way in self._list_takers(place)
        )

    @cached_property
    def _named(self) -> Mapping[str, Instruction]:
        """The instructions by name; of several with the same name, one outside fusions."""
        fused = {name for caller in self.module.walk() if caller.opcode == "fusion" for name in caller.called}
        fused_first = sorted(self.module.computations, key=lambda computation: computation.name not in fused)
        # Later entries overwrite earlier ones, so an instruction outside fusions wins.
        return {instruction.name: instruction for computation in fused_first for instruction in computation}

    def _trace_maker(self, value: Element) -> Maker:
        loop, visited = None, set[Element]()
        following: Element | None = value
        while following is not None and following not in visited:
            value = following
            visited.add(value)
            instruction = value[0]
            if instruction.opcode == "dynamic-update-slice":
                loop = loop or self._find_loop(instruction)
                # An update fills a stack with slices, so the maker of the stack is that of the slice.
                following = self.module.operands(instruction)[1], ()
            else:
                following = self._step_back(value, is_moved, into_loops=True)
        maker = value[0]
        caller = self.callers.get(maker.computation)
        # An instruction inside a fusion may lack metadata, but the fusion itself has the origin.
        is_unnamed = caller is not None and caller.opcode == "fusion" and not maker.op_name
        return Maker(caller if caller is not None and is_unnamed else maker, loop)

    def _hand_on(self, user: Instruction, value: Element, passing: frozenset[str]) -> list[Element]:
        """Return the elements of a user's result that are the value itself; empty if the user computes with it."""
        instruction, index = value
        if user.opcode == "get-tuple-element":
            number = int(user.attributes["index"])
            return [(user, index[1:])] if not index or index[0] == number else []
        if user.opcode == "tuple":
            return [(user, (at, *index)) for at, name in enumerate(user.operands) if name == instruction.name]
        return [(user, index)] if user.opcode in passing or user.opcode.endswith("-done") else []

    def _is_opened(self, user: Instruction) -> bool:
        return bool(user.called) and (user.opcode in CALLING or user.opcode == "async-start")

    def _list_next(self, value: Element) -> Iterator[Element]:
        """Yield the other places of a value: in users that pass it on, in called computations, and in their callers."""
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
        """Yield each user of a value with the value that it passes on, or with None if it computes with the value."""
        instruction, index = value
        for user in self.module.users(instruction):
            if user.opcode in COPYING | PACKING:
                yield from ((user, way) for way in self._hand_on(user, value, COPYING))
            elif user.opcode == "while":
                yield user, (user, index)
                yield user, (self._body(user).parameters[0], index)
            elif not any(part.op_name for part in self._open(user)):
                # The compiler added this user itself: it only moves the elements into another order.
                yield user, (user, ())
            else:
                yield user, None
        # The loop returns the result of its body.
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
