"""The changes between two modules, such as those before and after a pass, as data and in one line of text."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.change_summaries import NOTHING, summarise_change
from xla_inspect.analysis.matching import Matching, match_instructions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.analysis.matching import Meanings
    from xla_inspect.hlo import Instruction, Module, Shape

# The aspects in which a pass can change an instruction, the most important first.
ASPECTS = (
    "shape",
    "element type",
    "operands",
    "attributes",
    "called computations",
    "layout",
    "memory space",
    "control dependencies",
    "sharding",
    "frontend attributes",
    "backend config",
    "metadata",
    "name",
)


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """An instruction that both modules contain in different forms.

    Attributes:
        before: The instruction in the first module.
        after: The matching instruction in the second module.
        aspects: The differing aspects, in the order of `ASPECTS`.
        keys: The names of the differing attributes.
    """

    before: Instruction
    after: Instruction
    aspects: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class ModuleChange:
    """The difference between two modules; an operand that was only renamed is no change of the instruction using it.

    Attributes:
        before: The first module.
        after: The second module.
        added: Instructions that only the second module contains, in the order of its text.
        removed: Instructions that only the first module contains, in the order of its text.
        changed: Instructions that both modules contain in different forms.
        computations_added: Names of the computations that only the second module contains.
        computations_removed: Names of the computations that only the first module contains.
        opcode_delta: The number of instructions of each opcode in the second module minus that in the first, if not 0.
        header: The names of the module attributes, in the first line of the text, that differ.
        is_reordered: Whether instructions that both modules contain are in a different order.
        kept: All matched instructions, changed or not: from that of the first module to that of the second.
    """

    before: Module
    after: Module
    added: tuple[Instruction, ...]
    removed: tuple[Instruction, ...]
    changed: tuple[InstructionChange, ...]
    computations_added: tuple[str, ...]
    computations_removed: tuple[str, ...]
    opcode_delta: Mapping[str, int]
    header: tuple[str, ...]
    is_reordered: bool
    kept: Mapping[Instruction, Instruction]

    @property
    def summary(self) -> str:
        """The change in one line, such as `removed 2 call, added 1 maximum` or `only layouts changed`."""
        return summarise_change(self)

    @property
    def is_visible(self) -> bool:
        """True if the summary reports any change, even one of names or metadata alone."""
        return self.summary != NOTHING

    def aspects(self) -> Counter[str]:
        """Return the number of matched instructions that differ in each aspect."""
        return Counter(aspect for change in self.changed for aspect in change.aspects)


def compare_modules(before: Module, after: Module, meanings: Meanings | None = None) -> ModuleChange:
    """Return the difference between two modules, whose instructions `match_instructions` matches."""
    matching = match_instructions(before, after, meanings)
    backwards = {after: before for before, after in matching.instructions.items()}
    old, new = before.opcode_counts(), after.opcode_counts()
    matched = set(matching.computations.values())
    keys = [*before.attributes, *(key for key in after.attributes if key not in before.attributes)]
    return ModuleChange(
        before=before,
        after=after,
        added=tuple(instruction for instruction in after.walk() if instruction not in backwards),
        removed=tuple(instruction for instruction in before.walk() if instruction not in matching.instructions),
        changed=tuple(_changes(matching)),
        computations_added=tuple(c.name for c in after.computations if c.name not in matched),
        computations_removed=tuple(c.name for c in before.computations if c.name not in matching.computations),
        opcode_delta={
            opcode: new[opcode] - old[opcode] for opcode in sorted({*old, *new}) if new[opcode] != old[opcode]
        },
        header=tuple(key for key in keys if before.attributes.get(key) != after.attributes.get(key)),
        is_reordered=_is_reordered(matching, before, after),
        kept=matching.instructions,
    )


def _changes(matching: Matching) -> Iterator[InstructionChange]:
    for before, after in matching.instructions.items():
        # The parser shares unchanged instructions between modules, so identity is a fast test for no change.
        if before is after and before.computation in matching.same and not before.calls:
            continue
        keys = tuple(_attribute_keys(before, after))
        aspects = set(_aspects(before, after, matching)) | {_KEY_ASPECTS.get(key, "attributes") for key in keys}
        if aspects:
            yield InstructionChange(before, after, tuple(aspect for aspect in ASPECTS if aspect in aspects), keys)


_KEY_ASPECTS = {
    "metadata": "metadata",
    "backend_config": "backend config",
    "sharding": "sharding",
    "frontend_attributes": "frontend attributes",
}


def _attribute_keys(before: Instruction, after: Instruction) -> Iterator[str]:
    """Yield the names of differing attributes, except attributes that refer to instructions or computations."""
    if before.attribute_text == after.attribute_text:
        return
    old, new = before.attributes, after.attributes
    for key in {**old, **new}:
        if key in before.calls or key in after.calls or key == "control-predecessors":
            continue
        if key == "metadata":
            if _origin(before) != _origin(after):
                yield key
        elif old.get(key) != new.get(key):
            yield key


def _origin(instruction: Instruction) -> dict[str, str]:
    """Return the metadata with an empty `scheduling_name`, the instruction's own name that a scheduler records."""
    return {key: "" if key == "scheduling_name" else value for key, value in instruction.metadata.items()}


def _aspects(before: Instruction, after: Instruction, matching: Matching) -> Iterator[str]:
    if before.name != after.name:
        yield "name"
    if before.shape is not after.shape and before.shape.text != after.shape.text:
        yield from _shape_aspects(before.shape, after.shape)
    if before.literal != after.literal:
        yield "attributes"
    # Operands are compared by their matches, so that renumbering alone is not a change.
    operands = tuple(matching.find_name(before.computation, name) for name in before.operands)
    if operands != after.operands:
        yield "operands"
    callees = {key: tuple(matching.computations.get(name) for name in names) for key, names in before.calls.items()}
    if callees != after.calls:
        yield "called computations"
    # Names may only be renumbered, so the number of predecessors is compared and not their names.
    if len(before.control_predecessors) != len(after.control_predecessors):
        yield "control dependencies"


def _shape_aspects(before: Shape, after: Shape) -> Iterator[str]:
    if before.plain != after.plain:
        sizes = [[(leaf.dimensions, leaf.dynamic) for leaf in shape.leaves()] for shape in (before, after)]
        # If only the element types differ, the change is reported as such, and layouts are not compared.
        yield "element type" if sizes[0] == sizes[1] else "shape"
        return
    for old, new in zip(before.leaves(), after.leaves(), strict=True):
        if old.layout is None or new.layout is None:
            if old.layout != new.layout:
                yield "layout"
            continue
        if old.layout.memory_space != new.layout.memory_space:
            yield "memory space"
        if (old.layout.minor_to_major, old.layout.tiles, old.layout.element_bits) != (
            new.layout.minor_to_major,
            new.layout.tiles,
            new.layout.element_bits,
        ):
            yield "layout"


def _is_reordered(matching: Matching, before: Module, after: Module) -> bool:
    """Return whether any matched computation has its matched instructions in a different order than before."""
    backwards = {new: old for old, new in matching.instructions.items()}
    for one, other in matching.computations.items():
        former, latter = before.computation(one), after.computation(other)
        # The parser shares an unchanged computation between modules, so it cannot be reordered.
        if former is latter:
            continue
        remaining = [old for new in latter if (old := backwards.get(new))]
        places = {instruction: place for place, instruction in enumerate(former)}
        if any(places[first] > places[second] for first, second in itertools.pairwise(remaining)):
            return True
    return False
