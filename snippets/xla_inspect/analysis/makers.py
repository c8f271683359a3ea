"""Who fills a value: an instruction behind loops, tuples and copies, and behind the stack that a scan saves into."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module

type Value = tuple[Instruction, tuple[int, ...]]
"""An instruction, and which element of its result, `()` being the result itself."""

_RENAMING = frozenset({"bitcast", "copy", "opt-barrier", "reshape"})
_EMPTY = frozenset({"broadcast", "custom-call"})
"""What a stack begins as: filled with a number, or set aside."""

_BACKWARD = "transpose("
_FAR = 400
RESULT = 1
"""Which element of an asynchronous start is what it computes."""


@dataclass(frozen=True, slots=True)
class Maker:
    """What fills a value.

    Attributes:
        instruction: The instruction that computes it.
        loop: The loop that fills a stack of it, a slice in each trip, or None.
    """

    instruction: Instruction
    loop: Instruction | None = None


class Makers:
    """Finds who fills values of one module, and whether the backward pass reads them."""

    def __init__(self, module: Module) -> None:
        """Find nothing yet."""
        self.module = module

    @cached_property
    def _callers(self) -> Mapping[str, Instruction]:
        """The instruction that calls a computation, by the computation's name."""
        return {name: caller for caller in self.module.walk() for name in caller.called}

    @cached_property
    def _named(self) -> Mapping[str, Instruction]:
        """The instructions by name; where several share one, the one that is in no fusion."""
        fused = {name for caller in self.module.walk() if caller.opcode == "fusion" for name in caller.called}
        named: dict[str, Instruction] = {}
        for computation in self.module.computations:
            for instruction in computation:
                if computation.name not in fused or instruction.name not in named:
                    named[instruction.name] = instruction
        return named

    def find(self, name: str, index: tuple[int, ...]) -> Maker | None:
        """Return who fills an element of what an instruction yields, or None where the module has no such instruction.

        Args:
            name: The instruction's name.
            index: Which element of its result.
        """
        instruction = self._named.get(name)
        if instruction is None:
            return None
        made = self._trace((instruction, index), None, set())
        return self._find_filling(made) if made.instruction.opcode in _EMPTY else made

    def _find_filling(self, made: Maker) -> Maker:
        """Return the loop's step that fills what was set aside for a stack, where there is one."""
        waiting, seen = deque[Value]([(made.instruction, ())]), set[Value]()
        while waiting and len(seen) < _FAR:
            value = waiting.popleft()
            if value in seen:
                continue
            seen.add(value)
            if value[0].opcode == "while":
                filled = self._trace(value, None, set())
                if filled.loop is not None:
                    return filled
            waiting += [way for _, way in self._follow(value) if way is not None]
        return made

    def feeds_backward(self, name: str, index: tuple[int, ...]) -> bool:
        """Return whether a value of the forward pass is read by what differentiation added.

        JAX names what it added `transpose(...)`.
        """
        instruction = self._named.get(name)
        if instruction is None:
            return False
        waiting, seen = deque([(instruction, index)]), set[Value]()
        while waiting and len(seen) < _FAR:
            value = waiting.popleft()
            if value in seen:
                continue
            seen.add(value)
            for user, way in self._follow(value):
                if way is None:
                    if any(_BACKWARD in (each.op_name or "") for each in self._open(user)):
                        return True
                else:
                    waiting.append(way)
        return False

    def _open(self, instruction: Instruction) -> Iterator[Instruction]:
        yield instruction
        if instruction.opcode == "fusion":
            for computation in self.module.called(instruction):
                yield from computation

    def _follow(self, value: Value) -> Iterator[tuple[Instruction, Value | None]]:  # noqa: C901 - a table of opcodes
        """Yield who takes a value: a user with where the value goes on to under another name, or with None."""
        instruction, index = value
        computation = self.module.computation(instruction.computation)
        for user in computation.users(instruction.name):
            match user.opcode:
                case "get-tuple-element":
                    number = int(user.attributes["index"])
                    if not index or index[0] == number:
                        yield user, (user, index[1:])
                case "tuple":
                    for at, operand in enumerate(user.operands):
                        if operand == instruction.name:
                            yield user, (user, (at, *index))
                case "while":
                    yield user, (user, index)
                    yield user, (self._body(user).parameters[0], index)
                case opcode if opcode in _RENAMING or opcode.startswith("copy-"):
                    yield user, (user, index)
                case _ if not any(each.op_name for each in self._open(user)):
                    # The compiler's own, which moves what it takes into another order.
                    yield user, (user, ())
                case _:
                    yield user, None
        # What a body returns is what its loop yields.
        caller = self._callers.get(computation.name)
        if instruction.is_root and caller is not None and caller.opcode == "while":
            yield caller, (caller, index)

    def _find_loop(self, instruction: Instruction) -> Instruction | None:
        """Return the loop in whose body an instruction runs, the nearest, or None."""
        caller = self._callers.get(instruction.computation)
        while caller is not None and caller.opcode != "while":
            caller = self._callers.get(caller.computation)
        return caller

    def _body(self, loop: Instruction) -> Computation:
        return self.module.computation(loop.calls["body"][0])

    def _trace(self, value: Value, loop: Instruction | None, seen: set[Value]) -> Maker:  # noqa: C901, PLR0911 - a table of opcodes
        instruction, index = value
        if value in seen:
            return Maker(instruction, loop)
        seen.add(value)
        operands = self.module.operands(instruction)
        match instruction.opcode:
            case "get-tuple-element":
                return self._trace((operands[0], (int(instruction.attributes["index"]), *index)), loop, seen)
            case "tuple" if index and index[0] < len(operands):
                return self._trace((operands[index[0]], index[1:]), loop, seen)
            case "while":
                return self._trace_loop(instruction, index, loop, seen)
            case "parameter":
                return self._trace_parameter(value, loop, seen)
            case "dynamic-update-slice":
                made = self._trace((operands[1], ()), loop, seen)
                return replace(made, loop=made.loop or self._find_loop(instruction))
            case "fusion":
                return self._trace_fusion(value, loop, seen)
            case opcode if opcode.endswith(("-done", "-update")) and operands:
                return self._trace((operands[0], (RESULT, *index)), loop, seen)
            case opcode if opcode.endswith("-start"):
                return self._trace_start(value, loop, seen)
            case _ if _moves(instruction) and operands:
                return self._trace((operands[0], index), loop, seen)
        return Maker(instruction, loop)

    def _trace_loop(
        self, loop: Instruction, index: tuple[int, ...], stacks: Instruction | None, seen: set[Value]
    ) -> Maker:
        if self._hands_on(loop, index):
            return self._trace((self.module.operands(loop)[0], index), stacks, seen)
        return self._trace((self._body(loop).root, index), stacks, seen)

    def _hands_on(self, loop: Instruction, index: tuple[int, ...]) -> bool:
        """Return whether the body of a loop returns an element of what it carries as it was."""
        instruction, rest = self._body(loop).root, index
        while instruction.opcode != "parameter":
            operands = self.module.operands(instruction)
            if instruction.opcode == "tuple" and rest and rest[0] < len(operands):
                instruction, rest = operands[rest[0]], rest[1:]
            elif instruction.opcode == "get-tuple-element":
                instruction, rest = operands[0], (int(instruction.attributes["index"]), *rest)
            elif _moves(instruction) or (instruction.opcode == "while" and self._hands_on(instruction, rest)):
                instruction = operands[0]
            else:
                return False
        return rest == index

    def _trace_parameter(self, value: Value, loop: Instruction | None, seen: set[Value]) -> Maker:
        instruction, index = value
        caller = self._callers.get(instruction.computation)
        if caller is None:
            return Maker(instruction, loop)
        if caller.opcode == "while":
            return self._trace((caller, index), loop, seen)
        operands = self.module.operands(caller)
        number = instruction.parameter_number or 0
        if caller.opcode in {"fusion", "call", "async-start", "fusion-start"} and number < len(operands):
            return self._trace((operands[number], index), loop, seen)
        return Maker(instruction, loop)

    def _trace_start(self, value: Value, loop: Instruction | None, seen: set[Value]) -> Maker:
        """Follow an asynchronous start, whose result holds its operands, what comes of them, and more."""
        start, index = value
        if start.opcode == "copy-start":
            return self._trace((self.module.operands(start)[0], ()), loop, seen)
        if index[:1] == (RESULT,) and start.called:
            if start.wrapped == "fusion":
                return self._trace_fusion((start, index[1:]), loop, seen)
            return self._trace((self.module.called(start)[0].root, index[1:]), loop, seen)
        return Maker(start, loop)

    def _trace_fusion(self, value: Value, loop: Instruction | None, seen: set[Value]) -> Maker:
        fusion, index = value
        computation = self.module.called(fusion)[0]
        root = computation.root
        if root.opcode == "tuple" and index:
            root = computation.operands(root)[index[0]]
        while _moves(root) and root.operands:
            root = computation.operands(root)[0]
        if root.opcode == "parameter":
            return self._trace((root, ()), loop, seen)
        if root.opcode != "dynamic-update-slice":
            return Maker(root if root.op_name else fusion, loop)
        # The slice that it writes is computed here, or comes in as it is.
        made = computation.operands(root)[1]
        while _moves(made) and made.operands:
            made = computation.operands(made)[0]
        stacks = self._find_loop(fusion)
        if made.opcode == "parameter":
            return replace(self._trace((made, ()), loop, seen), loop=stacks)
        return Maker(made, stacks)


def _moves(instruction: Instruction) -> bool:
    """Return whether an instruction hands its operand on, perhaps in another order, and nobody wrote it."""
    return instruction.opcode in _RENAMING or (instruction.opcode == "transpose" and not instruction.op_name)
