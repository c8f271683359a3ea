"""Why devices exchange something: asked for in the program, or brought in by the partitioner, and then what for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import REWRITING, ValueFlow, find_stage, is_fusion, name_kind, skip_renaming
from xla_inspect.questions.collectives.shardings import find_sharding
from xla_inspect.questions.collectives.unpartitioned_program import (
    NEIGHBOURS,
    PRODUCTS,
    WrittenProgram,
    name_argument,
    name_primitive,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis import Collective, Mesh
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

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
"""The names that the partitioner gives to the collectives that it adds."""

_REDUCING = frozenset({"all-reduce", "reduce-scatter", "all-reduce-scatter"})


class Reasons:
    """The facts of a program about its collectives.

    Args:
        capture: The capture.
        mesh: The mesh that names the axes, or None where none is known.
        flow: The values of the capture's optimized module.
    """

    def __init__(self, capture: Capture, mesh: Mesh | None, flow: ValueFlow) -> None:
        """Look up the module as it was before it was partitioned."""
        self.mesh, self.flow = mesh, flow
        # The partitioner has brought in none yet.
        self.is_global = find_stage(capture).shapes == "global"
        self.written = WrittenProgram(capture, mesh)

    def is_asked(self, collective: Collective) -> bool | None:
        """Return whether a collective was asked for, or None where the module does not say."""
        instruction, scheduled = collective.instruction, collective.scheduled
        if any(GENERATED in step.attributes.get("frontend_attributes", "") for step in (instruction, scheduled)):
            return False
        if name_primitive(instruction) in WRITTEN or name_primitive(scheduled) in WRITTEN or self.is_global:
            return True
        reducing = collective.kind in _REDUCING
        alike = [
            each
            for each in self.written.collectives
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
        primitive = name_primitive(source) if source else self._name(collective.instruction)
        held, wanted, where = self.written.find_shardings(source)
        change = f"from {held or 'its sharding'} to {wanted}{where}" if wanted else ""
        if collective.kind == "collective-permute":
            if source is not None and source.opcode == "dot":
                return f"{primitive} is computed in steps: what is sharded over {along} is passed round the devices"
            if source is not None and source.opcode in NEIGHBOURS:
                return f"{primitive} takes elements of other devices' parts, over {along}"
            moved = f"parts change place over {along}{f', at {primitive}' if primitive else ''}"
            return f"parts go to other devices at {primitive}, {change}" if change else moved
        what = f"what is sharded over {along} in one dimension is sharded in another"
        return f"{what}{f', at {primitive}' if primitive else ''}{f', {change}' if change else ''}"

    def find_source(self, collective: Collective) -> Instruction | None:
        """Return the operation of the program as written that a collective was brought in for, or None."""
        return next((given for given, _ in self.find_sources(collective)), None)

    def find_sources(self, collective: Collective) -> list[tuple[Instruction, Instruction]]:
        """Return the operations that a collective was brought in for, each with the operand that came of it."""
        operands = self._list_operands(collective)
        apart = [(self.written.find_given(self.flow.find_origin(operand), operand), operand) for operand in operands]
        if len(operands) > 1 and (found := [(given, operand) for given, operand in apart if given]):
            return found
        steps = (collective.instruction, collective.scheduled)
        shaped = operands[0] if operands else collective.instruction
        own = [(self.written.find_given(step, shaped), shaped) for step in steps]
        return [(given, operand) for given, operand in (*own, *apart) if given is not None][:1]

    def _list_operands(self, collective: Collective) -> tuple[Instruction, ...]:
        return list_carried(self.flow.module, collective.instruction)

    def _explain_sum(self, collective: Collective, along: str) -> str:
        kept = "" if collective.kind == "all-reduce" else "; each device keeps its part"
        sources = self._find_summed(collective)
        weights = self._find_weights(collective, sources)
        if weights:
            more = "" if len(weights) == len(sources) else "and others, "
            return f"{more}whose gradient is a sum over {along}, over which the batch is sharded{kept}"
        if not sources:
            return f"parts of a result are added up over {along}{kept}"
        primitive, opcode = name_primitive(sources[0][0]), sources[0][0].opcode
        said = {
            **dict.fromkeys(PRODUCTS, f"{primitive} contracts a dimension that is sharded over {along}"),
            "reduce": f"{primitive} reduces a dimension that is sharded over {along}",
            "gather": f"the table of {primitive} is sharded over {along}: each device looks up what it has",
            "scatter": f"the updates of {primitive} are sharded over {along}: each device adds its own",
        }
        return f"{said.get(opcode, f'parts of the result of {primitive or opcode} are added up over {along}')}{kept}"

    def _find_summed(self, collective: Collective) -> list[tuple[Instruction, Instruction]]:
        """Return the operations whose results are added up, each with the operand that came of it."""
        return [
            (self.written.flow.find_origin(each, whole=True) if each.opcode in REWRITING else each, operand)
            for each, operand in self.find_sources(collective)
        ]

    def _find_weights(
        self, collective: Collective, sources: Sequence[tuple[Instruction, Instruction]]
    ) -> list[tuple[str, ...]]:
        """Return the arguments that the sums are gradients of, several names where shapes leave open which."""
        names = " ".join(each.op_name or "" for each in (collective.instruction, *(each for each, _ in sources)))
        if "transpose(" not in names:
            return []
        found = [self.written.find_alike(each, operand) for each, operand in sources if each.opcode in PRODUCTS]
        return [each for each in found if each]

    def name_arguments(self, collective: Collective) -> tuple[str, ...]:
        """Return the arguments of the program that are gathered, or whose gradients are summed."""
        if collective.kind in _REDUCING:
            weights = self._find_weights(collective, self._find_summed(collective))
            return tuple(dict.fromkeys(" or ".join(each) for each in weights))
        if collective.kind != "all-gather":
            return ()
        found = self._find_arguments(collective)
        return tuple(dict.fromkeys(name_argument(parameter) for parameter in found if parameter is not None))

    def _find_arguments(self, collective: Collective) -> list[Instruction | None]:
        entry = self.flow.module.entry.name
        origins = [self._find_ungathered(operand) for operand in self._list_operands(collective)]
        return [
            self.written.parameters.get(origin.parameter_number)
            if origin.opcode == "parameter" and origin.computation == entry
            else None
            for origin in origins
        ]

    def _find_ungathered(self, value: Instruction) -> Instruction:
        """Return where a value comes from, also one that was gathered over other axes before."""
        origin = self.flow.find_origin(value)
        while name_kind(origin) == "all-gather":
            origin = self.flow.find_origin(self.flow.module.operands(origin)[0])
        return origin

    def _name(self, instruction: Instruction) -> str:
        """Return the primitive of an instruction, where its name is not that of an argument."""
        return "" if instruction.op_name in self.written.argument_names else name_primitive(instruction)

    def _explain_gather(self, collective: Collective, uses: Sequence[Instruction], along: str) -> str:
        taking = list(dict.fromkeys(self._name(use) or use.opcode for use in uses))
        wants = f"{taking[0]} takes it whole" if taking else "it is wanted whole"
        if kept := [parameter for parameter in self._find_arguments(collective) if parameter is not None]:
            specs = list(dict.fromkeys(filter(None, (find_sharding(parameter, self.mesh) for parameter in kept))))
            spread = f"kept as {' and '.join(specs)}, and " if specs else ""
            return f"{spread}gathered over {along} for its use: {wants}"
        source = self.find_source(collective)
        held, wanted, where = self.written.find_shardings(source)
        made = self.flow.find_origin(self._list_operands(collective)[0])
        primitive = self._name(made) or (self._name(source) if source else "")
        what = f"the result of {primitive}" if primitive else "a result"
        if made.opcode == "parameter":
            what = "what a loop hands on"
        if wanted:
            return f"{what} is resharded {f'from {held} ' if held else ''}to {wanted}{where}"
        return f"{what} is sharded over {along}, and {wants}"


def list_carried(module: Module, collective: Instruction) -> tuple[Instruction, ...]:
    """Return the values that a collective carries, which a GPU's compiler concatenates where it combines several."""
    operands = tuple(skip_renaming(module, each) for each in module.operands(collective))
    if len(operands) > 1:
        return module.operands(collective)
    for value in operands:
        inner = module.called(value)[0].root if is_fusion(value) else value
        if inner.opcode == "concatenate" and name_primitive(inner) != "concatenate":
            parts = [skip_renaming(module, each) for each in module.operands(inner)]
            given = module.operands(value)
            return tuple(
                skip_renaming(module, given[each.parameter_number or 0])
                if is_fusion(value) and each.opcode == "parameter"
                else each
                for each in parts
            )
    return module.operands(collective)


def name_axes(axes: Sequence[str], group: int) -> str:
    """Return axes in words, or how many devices there are where no axis is known."""
    return " and ".join(axes) if axes else f"{group} devices"
