"""Why devices exchange something: asked for in the program, or brought in by the partitioner, and then what for."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from xla_inspect.analysis import MOVING, Origins, find_frame, name_kind
from xla_inspect.answers.shardings import find_sharding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis import Collective, Mesh
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

WRITTEN = frozenset(
    {
        "all_gather",
        "all_gather_invariant",
        "all_gather_reduced",
        "all_to_all",
        "pbroadcast",
        "pmax",
        "pmin",
        "ppermute",
        "psum",
        "psum2",
        "psum_invariant",
        "psum_scatter",
        "ragged_all_to_all",
        "reduce_scatter",
        "unreduced_psum",
        "unreduced_reduce_scatter",
    }
)
"""Primitives of JAX that are collectives: what has such a name in its metadata was asked for."""

MOVERS = frozenset(
    {
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "dynamic_slice",
        "expand_dims",
        "reshape",
        "slice",
        "squeeze",
        "transpose",
    }
)
"""Primitives that compute nothing: of a value that one of them makes, the line that takes it says more."""

GENERATED = "is_spmd_generated"
"""What the partitioner writes beside the collectives that it brings in."""

_REDUCING = frozenset({"all-reduce", "reduce-scatter", "all-reduce-scatter"})
_NEIGHBOURS = frozenset({"concatenate", "convolution", "gather", "pad", "reduce-window", "reverse", "slice"})
_PRODUCTS = frozenset({"convolution", "dot"})
_TELLING = _NEIGHBOURS | {"custom-call", "dot", "dynamic-slice", "dynamic-update-slice", "reduce", "scatter", "sort"}
_MOST_SHAPES = 4
_STEPS = 50
_ESCAPED = re.compile(r"\\(['\"])")


class Reasons:
    """What a program says about its collectives.

    Args:
        capture: The capture.
        mesh: The mesh that names the axes, or None where none is known.
        origins: Of the capture's optimized module.
    """

    def __init__(self, capture: Capture, mesh: Mesh | None, origins: Origins) -> None:
        """Look up the module as it was before it was partitioned."""
        self.capture, self.mesh, self.origins = capture, mesh, origins
        self.given = Origins(capture.unoptimized_module)
        self.by_place: dict[tuple[str, str, int], list[Instruction]] = defaultdict(list)
        self.written: list[Instruction] = []
        for instruction in capture.unoptimized_module.walk():
            if frame := find_frame(capture, instruction):
                self.by_place[name_primitive(instruction), frame.file, frame.line].append(instruction)
            if name_kind(instruction):
                self.written.append(instruction)
        self.parameters = {
            parameter.parameter_number: parameter for parameter in capture.unoptimized_module.entry.parameters
        }

    def is_asked(self, collective: Collective) -> bool | None:
        """Return whether a collective was asked for, or None where the module does not say."""
        instruction, scheduled = collective.instruction, collective.scheduled
        if any(GENERATED in step.attributes.get("frontend_attributes", "") for step in (instruction, scheduled)):
            return False
        if name_primitive(instruction) in WRITTEN or name_primitive(scheduled) in WRITTEN:
            return True
        reducing = collective.kind in _REDUCING
        alike = [
            each
            for each in self.written
            if name_kind(each) == collective.kind or (reducing and name_kind(each) in _REDUCING)
        ]
        if not alike:
            return False
        return False if instruction.op_name else None

    def explain(self, collective: Collective, axes: Sequence[str], uses: Sequence[Instruction]) -> str:
        """Return why the partitioner brought a collective in, as far as the module says.

        Args:
            collective: The collective.
            axes: The axes of the mesh that it goes along.
            uses: What takes its result.
        """
        along = name_axes(axes, collective.group)
        source = self.find_source(collective)
        if collective.kind in _REDUCING:
            return self._explain_sum(collective, along)
        if collective.kind == "all-gather":
            return self._explain_gather(collective, uses, along)
        primitive = name_primitive(source) if source else ""
        held, wanted, where = self._find_shardings(source)
        change = f"from {held or 'its sharding'} to {wanted}{where}" if wanted else ""
        if collective.kind == "collective-permute":
            if source is not None and source.opcode in _NEIGHBOURS:
                return f"{primitive} takes elements of other devices' parts, over {along}"
            moved = f"parts change place over {along}"
            return f"parts go to other devices at {primitive}, {change}" if change else moved
        what = f"what is cut over {along} along one dimension is cut along another"
        return f"{what}{f', at {primitive}' if primitive else ''}{f', {change}' if change else ''}"

    def find_source(self, collective: Collective) -> Instruction | None:
        """Return the operation of the program as written that a collective was brought in for, or None."""
        return next((given for given, _ in self.find_sources(collective)), None)

    def find_sources(self, collective: Collective) -> list[tuple[Instruction, Instruction]]:
        """Return the operations that a collective was brought in for, each with the operand that came of it."""
        operands = self._list_operands(collective)
        apart = [(self.find_given(self.origins.find_origin(operand), operand), operand) for operand in operands]
        if len(operands) > 1 and (found := [(given, operand) for given, operand in apart if given]):
            return found
        steps = (collective.instruction, collective.scheduled)
        shaped = operands[0] if operands else collective.instruction
        own = [(self.find_given(step, shaped), shaped) for step in steps]
        return [(given, operand) for given, operand in (*own, *apart) if given is not None][:1]

    def find_given(self, instruction: Instruction, shaped: Instruction) -> Instruction | None:
        """Return the instruction of the module as imported that one of the optimized module has the name and line of.

        Args:
            instruction: The instruction of the optimized module.
            shaped: One whose shape tells those apart that have one name and line, as a product and its gradients do.
        """
        frame = find_frame(self.capture, instruction)
        if frame is None:
            return None
        found = self.by_place.get((name_primitive(instruction), frame.file, frame.line), [])
        named = [each for each in found if (instruction.op_name or "").endswith(each.op_name or "")] or found
        # One operation of JAX may be several of HLO, of which those that only prepare say nothing.
        return min(named, key=lambda each: (each.opcode not in _TELLING, _differ(each, shaped)), default=None)

    def _list_operands(self, collective: Collective) -> tuple[Instruction, ...]:
        return self.origins.module.operands(collective.instruction)

    def _explain_sum(self, collective: Collective, along: str) -> str:
        kept = "" if collective.kind == "all-reduce" else "; each device keeps its part"
        sources = [
            (self.given.find_origin(each, whole=True) if each.opcode in MOVING else each, operand)
            for each, operand in self.find_sources(collective)
        ]
        names = " ".join(each.op_name or "" for each in (collective.instruction, *(each for each, _ in sources)))
        weights = [
            self._find_alike(each, operand) if "transpose(" in names and each.opcode in _PRODUCTS else ()
            for each, operand in sources
        ]
        if sources and all(weights):
            told = " and ".join(dict.fromkeys(" or ".join(each) for each in weights))
            return f"gradient of {told}: the batch is cut over {along}, so parts are summed{kept}"
        if not sources:
            return f"parts of a result are added up over {along}{kept}"
        primitive, opcode = name_primitive(sources[0][0]), sources[0][0].opcode
        said = {
            **dict.fromkeys(_PRODUCTS, f"{primitive} sums over a dimension that is cut over {along}"),
            "reduce": f"{primitive} reduces a dimension that is cut over {along}",
            "gather": f"the table of {primitive} is cut over {along}: each device looks up what it has",
            "scatter": f"the updates of {primitive} are cut over {along}: each device adds its own",
        }
        return f"{said.get(opcode, f'parts of the result of {primitive or opcode} are added up over {along}')}{kept}"

    def _find_alike(self, source: Instruction, summed: Instruction) -> tuple[str, ...]:
        """Return the arguments that a result is the gradient of by its shape, where it does not come from a weight.

        A product of what goes back with a weight is the gradient of what went in; one of two that are computed, that of
        a weight.

        Args:
            source: The product as the program has it.
            summed: What is added up, which may be the product transposed.
        """
        module = self.given.module
        for operand in module.operands(source):
            origin = self.given.find_origin(operand)
            is_argument = origin.opcode == "parameter" and origin.computation == module.entry.name
            if is_argument and len(origin.shape.dimensions) >= len(operand.shape.dimensions) > 1:
                return ()
        exact, likely = [], []
        own = tuple(size for size in summed.shape.dimensions if size > 1)
        for parameter in self.parameters.values():
            # What is scanned over has a layer's weights along its first dimension.
            for dimensions in (parameter.shape.dimensions, parameter.shape.dimensions[1:]):
                if len(dimensions) > 1 and dimensions == own:
                    exact.append(name_argument(parameter))
                if len(dimensions) > 1 and sorted(dimensions) == sorted(source.shape.dimensions):
                    likely.append(name_argument(parameter))
        # The state of an optimizer has the shapes and the names of the weights: the first of a name stands for all.
        names = tuple({re.sub(r"^\w+", "", name) or name: name for name in reversed(exact or likely)}.values())[::-1]
        return names if 0 < len(names) <= _MOST_SHAPES else ()

    def name_arguments(self, collective: Collective) -> tuple[str, ...]:
        """Return the arguments of the program that an all-gather brings together."""
        if collective.kind != "all-gather":
            return ()
        found = self._find_arguments(collective)
        return tuple(dict.fromkeys(name_argument(parameter) for parameter in found if parameter is not None))

    def _find_arguments(self, collective: Collective) -> list[Instruction | None]:
        entry = self.origins.module.entry.name
        origins = [self.origins.find_origin(operand) for operand in self._list_operands(collective)]
        return [
            self.parameters.get(origin.parameter_number)
            if origin.opcode == "parameter" and origin.computation == entry
            else None
            for origin in origins
        ]

    def _explain_gather(self, collective: Collective, uses: Sequence[Instruction], along: str) -> str:
        taking = list(dict.fromkeys(name_primitive(use) or use.opcode for use in uses))
        wants = f"{taking[0]} takes it whole" if taking else "it is wanted whole"
        if kept := [parameter for parameter in self._find_arguments(collective) if parameter is not None]:
            specs = list(dict.fromkeys(filter(None, (find_sharding(parameter, self.mesh) for parameter in kept))))
            spread = f"kept as {' and '.join(specs)}, and " if specs else ""
            return f"{spread}gathered over {along} for its use: {wants}"
        source = self.find_source(collective)
        held, wanted, where = self._find_shardings(source)
        made = self.origins.find_origin(self._list_operands(collective)[0])
        primitive = name_primitive(made) or (name_primitive(source) if source else "")
        what = f"the result of {primitive}" if primitive else "a result"
        if made.opcode == "parameter":
            what = "what a loop hands on"
        if wanted:
            return f"{what} goes {f'from {held} ' if held else ''}to {wanted}{where}"
        return f"{what} is cut over {along}, and {wants}"

    def _find_shardings(self, source: Instruction | None) -> tuple[str, str, str]:
        """Return how an operation's value was spread, how a constraint wants it, and where that stands."""
        if source is None:
            return "", "", ""
        operands = self.given.module.operands(source)
        constraint = source if source.custom_call_target == "Sharding" else None
        held = self._find_held(operands[0] if constraint is not None and operands else source)
        for use, _ in self.given.find_uses(source) if constraint is None else ():
            if use.custom_call_target == "Sharding":
                constraint = use
                break
        if constraint is None:
            return held, "", ""
        frame = find_frame(self.capture, constraint)
        where = f", which {frame.file.rpartition('/')[2]}:{frame.line} asks for" if frame else ""
        return held, find_sharding(constraint, self.mesh), where

    def _find_held(self, value: Instruction) -> str:
        """Return how the nearest value of the same size is spread that a value is computed from, if any says so."""
        waiting, seen = deque([value]), {value}
        for _ in range(_STEPS):
            if not waiting:
                break
            current = waiting.popleft()
            if spec := find_sharding(current, self.mesh):
                return spec
            before = self.given.find_origin(current, whole=True)
            for each in (before,) if before is not current else self.given.module.operands(current):
                if each not in seen and each.shape.is_array and each.shape.size == value.shape.size:
                    seen.add(each)
                    waiting.append(each)
        return ""


def _differ(one: Instruction, other: Instruction) -> int:
    """Return how little the shapes of a value and of what may be a part of it have in common; none is the same."""
    if not (one.shape.is_array and other.shape.is_array):
        return 3
    if sorted(size for size in one.shape.dimensions if size > 1) == sorted(s for s in other.shape.dimensions if s > 1):
        return 0
    whole, part = one.shape.size, other.shape.size
    return 1 if part and whole % part == 0 else 2


def name_primitive(instruction: Instruction) -> str:
    """Return the name of the primitive that an instruction comes from, or an empty string."""
    return (instruction.op_name or "").rpartition("/")[2]


def name_argument(parameter: Instruction) -> str:
    """Return what the program calls an argument, such as `params['w1']`."""
    return _ESCAPED.sub(r"\1", parameter.op_name or parameter.name)


def name_axes(axes: Sequence[str], group: int) -> str:
    """Return axes in words, or how many devices there are where no axis is known."""
    return " and ".join(axes) if axes else f"{group} devices"
