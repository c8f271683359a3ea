"""The program before the partitioner, to find the operation, argument or sharding behind a collective."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from xla_inspect.analysis import ValueFlow, find_frame, name_kind, search
from xla_inspect.questions.collectives.shardings import find_sharding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import Mesh
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

PRODUCTS = frozenset({"convolution", "dot"})
"""The opcodes of matrix products."""
NEIGHBOURS = frozenset({"concatenate", "convolution", "gather", "pad", "reduce-window", "reverse", "slice"})
"""Opcodes that read neighboring elements, which may be in another device's shard."""

_TELLING = NEIGHBOURS | PRODUCTS | {"custom-call", "dynamic-slice", "dynamic-update-slice", "reduce", "scatter", "sort"}
_MOST_SHAPES = 4
_KEY = re.compile(r"\['([^']+)'\]")
_ESCAPED = re.compile(r"\\(['\"])")


class WrittenProgram:
    """The module before optimization, with its instructions indexed by primitive and line, and its collectives."""

    def __init__(self, capture: Capture, mesh: Mesh | None) -> None:
        """Index the module's instructions by name and line."""
        self.capture, self.mesh = capture, mesh
        self.flow = ValueFlow(capture.unoptimized_module)
        self.by_place: dict[tuple[str, str, int], list[Instruction]] = defaultdict(list)
        self.collectives: list[Instruction] = []
        for instruction in capture.unoptimized_module.walk():
            if frame := find_frame(capture, instruction):
                self.by_place[name_primitive(instruction), frame.file, frame.line].append(instruction)
            if name_kind(instruction):
                self.collectives.append(instruction)
        self.parameters = {
            parameter.parameter_number: parameter for parameter in capture.unoptimized_module.entry.parameters
        }
        self.argument_names = {parameter.op_name for parameter in self.parameters.values()}

    def find_given(self, instruction: Instruction, shaped: Instruction) -> Instruction | None:
        """Return the instruction of the unoptimized module with the primitive and line of an optimized one, or None.

        Args:
            instruction: The instruction of the optimized module.
            shaped: An instruction whose shape decides between candidates with the same name and line, such as a
                product and its gradients.
        """
        frame = find_frame(self.capture, instruction)
        if frame is None:
            return None
        candidates = self.by_place.get((name_primitive(instruction), frame.file, frame.line), [])
        # The optimized name may have a longer path in front, so only its end is compared.
        exact = [
            candidate for candidate in candidates if (instruction.op_name or "").endswith(candidate.op_name or "")
        ] or candidates
        # One JAX operation may become several HLO instructions. Those that only prepare operands explain nothing.
        return min(
            exact, key=lambda candidate: (candidate.opcode not in _TELLING, _differ(candidate, shaped)), default=None
        )

    def find_alike(self, source: Instruction, summed: Instruction) -> tuple[str, ...]:
        """Return the names of the arguments whose gradient a product may compute, by its shape.

        The result is empty if an operand is a weight, or if no argument or too many have the shape.

        The product of an incoming gradient and a weight is the gradient of the layer's input. The product of two
        computed values is the gradient of a weight.

        Args:
            source: The product in the unoptimized module.
            summed: The summed value, which may be the transposed product.
        """
        module = self.flow.module
        for operand in module.operands(source):
            origin = self.flow.find_origin(operand)
            is_argument = origin.opcode == "parameter" and origin.computation == module.entry.name
            # An operand that is an argument of at least its rank is a weight.
            if is_argument and len(origin.shape.dimensions) >= len(operand.shape.dimensions) > 1:
                return ()
        exact, likely = [], []
        # Dimensions of size 1 may come from a reshape, so they do not count.
        own = tuple(size for size in summed.shape.dimensions if size > 1)
        for parameter in self.parameters.values():
            # The stacked weights of a scan have the layers along their first dimension.
            for dimensions in (parameter.shape.dimensions, parameter.shape.dimensions[1:]):
                if len(dimensions) > 1 and dimensions == own:
                    exact.append(name_argument(parameter))
                if len(dimensions) > 1 and sorted(dimensions) == sorted(source.shape.dimensions):
                    likely.append(name_argument(parameter))
        # The shape of the gradient itself is better evidence than that of the product.
        names = _choose(exact or likely, (source.op_name or "").split("/"))
        return names if 0 < len(names) <= _MOST_SHAPES else ()

    def find_shardings(self, source: Instruction | None) -> tuple[str, str, str]:
        """Return an operation's sharding, its constraint's sharding, and a clause with that line; each '' if none."""
        if source is None:
            return "", "", ""
        operands = self.flow.module.operands(source)
        # In HLO, a sharding constraint is a custom call named `Sharding`.
        constraint = source if source.custom_call_target == "Sharding" else None
        sharding = self._find_held(operands[0] if constraint is not None and operands else source)
        for use, _ in self.flow.find_uses(source) if constraint is None else ():
            if use.custom_call_target == "Sharding":
                constraint = use
                break
        if constraint is None:
            return sharding, "", ""
        frame = find_frame(self.capture, constraint)
        where = f", as {frame.file.rpartition('/')[2]}:{frame.line} requests" if frame else ""
        return sharding, find_sharding(constraint, self.mesh), where

    def _find_held(self, value: Instruction) -> str:
        """Return the sharding of the nearest value of the same size that a value depends on, or an empty string."""

        def list_before(current: Instruction) -> Iterator[Instruction]:
            origin = self.flow.find_origin(current, whole=True)
            # A value that only passes through tuples or loops continues at its origin.
            before = (origin,) if origin is not current else self.flow.module.operands(current)
            return (operand for operand in before if operand.shape.is_array and operand.shape.size == value.shape.size)

        return next(filter(None, (find_sharding(source, self.mesh) for source in search([value], list_before))), "")


def _choose(names: list[str], path: list[str]) -> tuple[str, ...]:
    """Return those of the argument names that share the most modules with the path of an operation.

    The optimizer state has the shapes of the weights, and its names end in theirs: only the first of them is returned.
    """
    scores = {name: sum(key in path for key in _KEY.findall(name)) for name in names}
    best = [name for name in scores if scores[name] == max(scores.values())]
    choice: list[str] = []
    for name in best:
        if not any(name.endswith(other[other.find("[") :]) for other in choice if "[" in other):
            choice.append(name)
    return tuple(choice)


def _differ(one: Instruction, other: Instruction) -> int:
    """Return a distance from 0 to 3 between the shapes of a value and a possible shard.

    It is 0 for equal dimensions in any order, apart from those of size 1; 1 if the shard's size divides the value's.
    """
    # A tuple has no dimensions to compare, so it is the least likely candidate.
    if not (one.shape.is_array and other.shape.is_array):
        return 3
    if sorted(size for size in one.shape.dimensions if size > 1) == sorted(s for s in other.shape.dimensions if s > 1):
        return 0
    whole, part = one.shape.size, other.shape.size
    return 1 if part and whole % part == 0 else 2


def name_primitive(instruction: Instruction) -> str:
    """Return the last part of an instruction's `op_name`, which is a JAX primitive's name, or an empty string."""
    return (instruction.op_name or "").rpartition("/")[2]


def name_argument(parameter: Instruction) -> str:
    """Return the program's name for an argument, such as `params['w1']`."""
    return _ESCAPED.sub(r"\1", parameter.op_name or parameter.name)
