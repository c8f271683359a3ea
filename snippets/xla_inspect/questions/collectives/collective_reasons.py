"""The reason for each collective: the program requests it, or the partitioner adds it for an operation."""

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
        "all_reduce",
        "all_to_all",
        "collective_broadcast",
        "collective_permute",
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
"""JAX primitives and StableHLO operations that are collectives.

The program requested an instruction with one of these names in its metadata.
"""

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
"""Primitives that only move data. The line that uses their result is more informative than their own line."""

GENERATED = "is_spmd_generated"
"""The attribute with which the partitioner marks the collectives that it adds."""

_REDUCING = frozenset({"all-reduce", "reduce-scatter", "all-reduce-scatter"})


class Reasons:
    """The reasons for the collectives of one program."""

    def __init__(self, capture: Capture, mesh: Mesh | None, flow: ValueFlow) -> None:
        """Index the module from before the partitioner."""
        self.mesh, self.flow = mesh, flow
        # In a module with global shapes, the partitioner has not run, so every collective comes from the program.
        self.is_global = find_stage(capture).shapes == "global"
        self.written = WrittenProgram(capture, mesh)

    def is_asked(self, collective: Collective) -> bool | None:
        """Return whether the program requested a collective, or None if the module does not show it."""
        instruction, scheduled = collective.instruction, collective.scheduled
        # The mark of the partitioner may be on the start or on the collective inside of it.
        if any(GENERATED in step.attributes.get("frontend_attributes", "") for step in (instruction, scheduled)):
            return False
        if name_primitive(instruction) in WRITTEN or name_primitive(scheduled) in WRITTEN or self.is_global:
            return True
        reducing = collective.kind in _REDUCING
        # The compiler rewrites one kind of reduction into another, so any reduction of the program may have become this
        # one.
        alike = [
            candidate
            for candidate in self.written.collectives
            if name_kind(candidate) == collective.kind or (reducing and name_kind(candidate) in _REDUCING)
        ]
        # Without a similar collective in the program, only the partitioner can have added this one.
        if not alike:
            return False
        return False if instruction.op_name else None

    def explain(self, collective: Collective, axes: Sequence[str], uses: Sequence[Instruction]) -> str:
        """Return a clause with the reason for a collective that the partitioner added, inferred from the modules.

        Args:
            collective: The collective.
            axes: The mesh axes along which it exchanges data.
            uses: The instructions that use its result.
        """
        along = name_axes(axes, collective.group)
        source = self.find_source(collective)
        if collective.kind in _REDUCING:
            return self._explain_sum(collective, along)
        if collective.kind == "all-gather":
            return self._explain_gather(collective, uses, along)
        primitive = name_primitive(source) if source else self._name(collective.instruction)
        old_sharding, new_sharding, where = self.written.find_shardings(source)
        change = f"from {old_sharding or 'its sharding'} to {new_sharding}{where}" if new_sharding else ""
        if collective.kind == "collective-permute":
            if source is not None and source.opcode == "dot":
                return f"{primitive} is computed in steps: the shards over {along} are passed around the devices"
            if source is not None and source.opcode in NEIGHBOURS:
                return f"{primitive} reads elements of other devices' shards over {along}"
            moved = f"devices exchange their shards over {along}{f' for {primitive}' if primitive else ''}"
            return f"devices exchange their shards for {primitive}, {change}" if change else moved
        what = f"the sharding over {along} moves from one dimension to another"
        return f"{what}{f' for {primitive}' if primitive else ''}{f', {change}' if change else ''}"

    def find_source(self, collective: Collective) -> Instruction | None:
        """Return the operation of the unpartitioned program that needs a collective, or None."""
        return next((operation for operation, _ in self.find_sources(collective)), None)

    def find_sources(self, collective: Collective) -> list[tuple[Instruction, Instruction]]:
        """Return the unpartitioned operations that need a collective, each with the collective's operand from it."""
        operands = self._list_operands(collective)
        apart = [(self.written.find_given(self.flow.find_origin(operand), operand), operand) for operand in operands]
        # A combined collective may belong to several operations, one for each operand.
        if len(operands) > 1 and (matches := [(operation, operand) for operation, operand in apart if operation]):
            return matches
        steps = (collective.instruction, collective.scheduled)
        shaped = operands[0] if operands else collective.instruction
        own = [(self.written.find_given(step, shaped), shaped) for step in steps]
        return [(operation, operand) for operation, operand in (*own, *apart) if operation is not None][:1]

    def _list_operands(self, collective: Collective) -> tuple[Instruction, ...]:
        return list_carried(self.flow.module, collective.instruction)

    def _explain_sum(self, collective: Collective, along: str) -> str:
        rest = "" if collective.kind == "all-reduce" else "; each device keeps its shard of the sum"
        sources = self._find_summed(collective)
        weights = self._find_weights(collective, sources)
        if weights:
            more = "" if len(weights) == len(sources) else "and others, "
            return f"{more}whose gradient is summed over {along} because the batch is sharded over {along}{rest}"
        if not sources:
            return f"partial results are summed over {along}{rest}"
        primitive, opcode = name_primitive(sources[0][0]), sources[0][0].opcode
        reasons = {
            **dict.fromkeys(PRODUCTS, f"{primitive} contracts a dimension that is sharded over {along}"),
            "reduce": f"{primitive} reduces a dimension that is sharded over {along}",
            "gather": f"the table of {primitive} is sharded over {along}: each device looks up the rows that it has",
            "scatter": f"the updates of {primitive} are sharded over {along}: each device adds its own updates",
        }
        partial = f"partial results of {primitive or opcode} are summed over {along}"
        return f"{reasons.get(opcode, partial)}{rest}"

    def _find_summed(self, collective: Collective) -> list[tuple[Instruction, Instruction]]:
        """Return the operations whose partial results are summed, each with the operand that it computes."""
        return [
            (self.written.flow.find_origin(source, whole=True) if source.opcode in REWRITING else source, operand)
            for source, operand in self.find_sources(collective)
        ]

    def _find_weights(
        self, collective: Collective, sources: Sequence[tuple[Instruction, Instruction]]
    ) -> list[tuple[str, ...]]:
        """Return the names of the argument of each summed gradient, several if shapes cannot tell arguments apart."""
        names = " ".join(
            source.op_name or "" for source in (collective.instruction, *(source for source, _ in sources))
        )
        # JAX marks the operations of a backward pass with `transpose(`, and only these compute gradients.
        if "transpose(" not in names:
            return []
        names_of_sums = [
            self.written.find_alike(source, operand) for source, operand in sources if source.opcode in PRODUCTS
        ]
        return [source for source in names_of_sums if source]

    def name_arguments(self, collective: Collective) -> tuple[str, ...]:
        """Return the names of the program's arguments that are gathered or whose gradients are summed, if any."""
        if collective.kind in _REDUCING:
            weights = self._find_weights(collective, self._find_summed(collective))
            return tuple(dict.fromkeys(" or ".join(weight) for weight in weights))
        if collective.kind != "all-gather":
            return ()
        parameters = self._find_arguments(collective)
        return tuple(dict.fromkeys(name_argument(parameter) for parameter in parameters if parameter is not None))

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
        """Return the origin of a value, looking through earlier gathers over other axes."""
        origin = self.flow.find_origin(value)
        # A value that is sharded over several axes is gathered in several steps.
        while name_kind(origin) == "all-gather":
            origin = self.flow.find_origin(self.flow.module.operands(origin)[0])
        return origin

    def _name(self, instruction: Instruction) -> str:
        """Return the primitive of an instruction, or an empty string if its name is that of an argument."""
        return "" if instruction.op_name in self.written.argument_names else name_primitive(instruction)

    def _explain_gather(self, collective: Collective, uses: Sequence[Instruction], along: str) -> str:
        consumers = list(dict.fromkeys(self._name(use) or use.opcode for use in uses))
        need = f"{consumers[0]} needs all of it" if consumers else "all of it is needed"
        if parameters := [parameter for parameter in self._find_arguments(collective) if parameter is not None]:
            specs = list(dict.fromkeys(filter(None, (find_sharding(parameter, self.mesh) for parameter in parameters))))
            stored = f"stored as {' and '.join(specs)} and " if specs else ""
            return f"{stored}gathered over {along} because {need}"
        source = self.find_source(collective)
        old_sharding, new_sharding, where = self.written.find_shardings(source)
        origin = self.flow.find_origin(self._list_operands(collective)[0])
        primitive = self._name(origin) or (self._name(source) if source else "")
        what = f"the result of {primitive}" if primitive else "a result"
        if origin.opcode == "parameter":
            # The parameters of the entry were handled above, so this one belongs to the body of a loop.
            what = "a value that a loop carries"
        if new_sharding:
            return f"{what} is resharded {f'from {old_sharding} ' if old_sharding else ''}to {new_sharding}{where}"
        return f"{what} is sharded over {along}, and {need}"


def list_carried(module: Module, collective: Instruction) -> tuple[Instruction, ...]:
    """Return the values that a collective exchanges: its operands, or the parts that a GPU's compiler concatenated."""
    operands = tuple(skip_renaming(module, part) for part in module.operands(collective))
    if len(operands) > 1:
        return module.operands(collective)
    for value in operands:
        inner = module.called(value)[0].root if is_fusion(value) else value
        # A concatenation that the program itself requests is one value, not the work of the combiner.
        if inner.opcode == "concatenate" and name_primitive(inner) != "concatenate":
            parts = [skip_renaming(module, part) for part in module.operands(inner)]
            fusion_operands = module.operands(value)
            return tuple(
                skip_renaming(module, fusion_operands[part.parameter_number or 0])
                if is_fusion(value) and part.opcode == "parameter"
                else part
                for part in parts
            )
    return module.operands(collective)


def name_axes(axes: Sequence[str], group: int) -> str:
    """Return the mesh axes as text, as in `data and model`, or without any, the group's size, as in `8 devices`."""
    return " and ".join(axes) if axes else f"{group} devices"
