"""Where a value of a module comes from, and what takes it: through tuples, loops, fusions and what only moves it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.hlo import Computation, Instruction, Module

MOVING = frozenset(
    {
        "bitcast",
        "bitcast-convert",
        "convert",
        "copy",
        "copy-done",
        "copy-start",
        "opt-barrier",
        "reduce-precision",
        "reshape",
        "transpose",
    }
)
"""Opcodes whose result is the value of their first operand, laid out or written otherwise."""

_CUTTING = frozenset({"dynamic-slice", "slice"})
_OPENED = frozenset({"fusion", "call", "async-start"})
_STEPS = 500
"""How far a value is followed; a program where that does not suffice has its answer cut short, and ends."""


class Origins:
    """The callers of a module's computations, by which values are followed across them.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        """Look up the callers, once for all values."""
        self.module = module
        self.callers: Mapping[str, Instruction] = {name: caller for caller in module.walk() for name in caller.called}

    def find_origin(self, value: Instruction, *, whole: bool = False) -> Instruction:
        """Return the instruction that a value was made by: a parameter of the program, or what computes.

        What only moves a value is passed through, and slices of it too, as where a loop takes a layer's weights from
        those of all. What a loop hands on unchanged is what it began with.

        Args:
            value: The instruction whose result is asked about.
            whole: Whether a slice is something else than the value that it is cut from.
        """
        picked: list[int] = []
        for _ in range(_STEPS):
            before = self._step_back(value, picked, _NOTHING if whole else _CUTTING)
            if before is None:
                return value
            value = before
        return value

    def _step_back(self, value: Instruction, picked: list[int], cutting: frozenset[str]) -> Instruction | None:
        """Return what an instruction hands on, or None where it makes its value itself."""
        computation = self.module.computation(value.computation)
        opcode = value.opcode
        if opcode == "parameter":
            return self._find_argument(value, computation, picked)
        if opcode == "while":
            kept = picked and self.is_kept(value.calls.get("body", ("",))[0], picked[-1])
            return computation.by_name[value.operands[0]] if kept else None
        if opcode == "async-done" or (opcode in _OPENED and value.called):
            holder = computation.by_name[value.operands[0]] if opcode == "async-done" else value
            return self.module.called(holder)[0].root if holder.called else None
        if opcode == "get-tuple-element":
            picked.append(int(value.attributes.get("index", "0")))
        elif opcode == "tuple" and picked:
            return computation.by_name[value.operands[picked.pop()]]
        elif opcode not in MOVING | cutting:
            return None
        return computation.by_name[value.operands[0]]

    def _find_argument(self, value: Instruction, computation: Computation, picked: list[int]) -> Instruction | None:
        caller = self.callers.get(computation.name)
        if computation.is_entry or caller is None:
            return None
        outside = self.module.computation(caller.computation)
        number = value.parameter_number or 0
        if caller.opcode in _OPENED:
            return outside.by_name[caller.operands[number]] if number < len(caller.operands) else None
        if caller.opcode != "while" or not picked:
            return None
        (body,) = caller.calls.get("body", ("",))
        return outside.by_name[caller.operands[0]] if self.is_kept(body, picked[-1]) else None

    def is_kept(self, body: str, index: int) -> bool:
        """Return whether a loop's body hands an element of its tuple on unchanged."""
        computation = self.module.by_name.get(body)
        if computation is None or computation.root.opcode != "tuple" or index >= len(computation.root.operands):
            return False
        value = computation.by_name[computation.root.operands[index]]
        while value.opcode in {"copy", "bitcast"}:
            value = computation.by_name[value.operands[0]]
        return (
            value.opcode == "get-tuple-element"
            and computation.by_name[value.operands[0]].opcode == "parameter"
            and int(value.attributes.get("index", "-1")) == index
        )

    def find_uses(self, value: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
        """Yield the instructions that compute with a value or cut it, each once, and the value as they take it.

        Args:
            value: The instruction whose result is asked about.
        """
        waiting, seen = deque([value]), {value}
        for _ in range(_STEPS):
            if not waiting:
                return
            taken = waiting.popleft()
            computation = self.module.computation(taken.computation)
            caller = self.callers.get(computation.name)
            going_on = [caller] if taken.is_root and caller is not None and caller.opcode in _OPENED else []
            for user in computation.users(taken.name):
                handed = self._hand_on(user, taken)
                going_on += handed
                if not handed and user not in seen:
                    seen.add(user)
                    yield user, taken
            for each in going_on:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)

    def _hand_on(self, user: Instruction, taken: Instruction) -> list[Instruction]:
        """Return what has the value that an instruction takes: itself, where it only moves it, or what it calls."""
        if user.opcode in MOVING | {"tuple", "get-tuple-element"} or user.opcode.endswith("-done"):
            return [user]
        if user.opcode not in _OPENED or not user.called:
            return []
        parameters = self.module.called(user)[0].parameters
        return [parameter for parameter, name in zip(parameters, user.operands, strict=False) if name == taken.name]

    def depends_on(self, value: Instruction, opcode: str) -> bool:
        """Return whether an instruction of some opcode is among those that a value is computed from."""
        waiting, seen = deque([value]), {value}
        for _ in range(_STEPS):
            if not waiting:
                return False
            current = waiting.popleft()
            if current.opcode == opcode:
                return True
            computation = self.module.computation(current.computation)
            before = [computation.by_name[name] for name in current.operands]
            if current.opcode in {"parameter", "get-tuple-element"}:
                origin = self.find_origin(current, whole=True)
                before = [origin] if origin is not current else []
            elif current.opcode in _OPENED:
                before += [called.root for called in self.module.called(current)]
            for each in before:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return False


_NOTHING: frozenset[str] = frozenset()
