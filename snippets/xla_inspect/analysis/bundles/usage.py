"""The use of each unit by each bundle, and a kernel's longest dependence chain, read from libtpu's texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles.bundle_units import find_mnemonic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.analysis.bundles.bundle_units import Mnemonic

UNITS: Mapping[str, tuple[str, str]] = {
    "MATMUL": ("MXU matmul", "rows on their way through the matrix units (MXU)"),
    "MATPUSH": ("MXU weights", "the operand that stays, on its way into the matrix units"),
    "XLU": ("across lanes", "transposes, permutations and reductions across lanes"),
    "VALU": ("vector ALU", "arithmetic on whole vector registers"),
    "VPOP": ("results", "results fetched from units with a queue"),
    "EUP": ("transcendental", "exp, log, reciprocals and the like"),
    "VLOAD": ("vector load", "vectors read from fast memory, and waits and flags, which share its slots"),
    "VSTORE": ("vector store", "vectors written to fast memory"),
    "SALU": ("scalar", "addresses, counters, conditions, branches and the start of copies"),
}
"""The units that libtpu counts, each with its title on pages and its work, as seen in libtpu's listings."""

PARTS: Mapping[str, tuple[str, str]] = {
    "VLOAD:FILL": ("VLOAD", "reads of what did not fit into registers"),
    "VSTORE:SPILL": ("VSTORE", "writes of what does not fit into registers"),
}
"""The parts of a unit's use that libtpu counts separately, each with that unit's key and a description."""

_HEADING, _ROWS = re.compile(r"^(?:[A-Z][A-Z:]*(?:, )?)+$", re.MULTILINE), "== UTILIZATION:\n"
_BLOCK = re.compile(r"^New basic block in region: (?P<region>\S+) .*$", re.MULTILINE)
_STEP = re.compile(
    r"^ +Length to end: (?P<left>\d+), (?:%(?P<result>\S+) = )?(?P<operation>[^\s()]+)(?P<rest>.*)$", re.MULTILINE
)
_TOTAL = re.compile(
    r"^\s*total scheduled bundles:\s*(?P<all>\d+)\n\s*empty scheduled bundles:\s*(?P<empty>\d+)", re.MULTILINE
)
_HLO = re.compile(r"^\s*[\d.]+ scheduled bundles \([ \d.]+%\): (?P<text>%(?P<name>\S+) = .*)$", re.MULTILINE)
_OP_NAME = re.compile(r'op_name="((?:\\.|[^"\\])*)"')


@dataclass(frozen=True)
class Utilization:
    """The number of slots of each unit that each bundle of a kernel uses.

    A matrix unit, a cross-lane unit and a transcendental unit stay busy after the bundle that starts them; each counts
    for as long as it is busy.

    Attributes:
        slots: The number of slots in a bundle for each key of `UNITS` and `PARTS`, in libtpu's order.
        rows: The used slots of each bundle, in the same order.
    """

    slots: Mapping[str, int]
    rows: tuple[tuple[int, ...], ...]

    @cached_property
    def used(self) -> Mapping[str, int]:
        """The number of used slots of all bundles, by unit."""
        # Without rows there are no columns to add up, but each unit needs a sum.
        sums = [sum(column) for column in zip(*self.rows, strict=True)] or [0] * len(self.slots)
        return dict(zip(self.slots, sums, strict=True))

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """The used share of each unit's slots in all bundles, from 0 to 1."""
        # A unit without slots or a kernel without bundles must not divide by zero.
        return {unit: self.used[unit] / (count * len(self.rows) or 1) for unit, count in self.slots.items()}

    @property
    def busiest(self) -> str:
        """The key of the unit with the largest used share of its slots, ignoring `PARTS`; empty if no slot is used."""
        unit = max((unit for unit in self.shares if unit in UNITS), key=lambda unit: self.shares[unit], default="")
        return unit if unit and self.shares[unit] else ""

    def follow(self, unit: str, columns: int) -> tuple[float, ...]:
        """Divide the kernel into equally long parts and return the used share of a unit's slots in each part.

        Args:
            unit: A key of `slots`.
            columns: The largest number of parts; there are never more parts than bundles.
        """
        index, count = list(self.slots).index(unit), len(self.rows)
        columns = min(columns, count)
        ends = [count * number // columns for number in range(columns + 1)] if columns else []
        return tuple(
            sum(row[index] for row in self.rows[start:end]) / (self.slots[unit] * (end - start) or 1)
            for start, end in pairwise(ends)
        )


def parse_utilization(text: str) -> Utilization:
    """Parse libtpu's utilization report for a kernel's bundles; an empty text gives an empty result."""
    heading = _HEADING.search(text)
    if heading is None:
        return Utilization({}, ())
    units = heading[0].split(", ")
    counts = text[heading.end() :].split("\n", 2)[1].split()
    rows = text.partition(_ROWS)[2].splitlines()
    return Utilization(
        dict(zip(units, map(int, counts), strict=True)),
        tuple(tuple(map(int, row.split())) for row in rows if row.strip()),
    )


@dataclass(frozen=True)
class Step:
    """An operation in the longest chain of a block.

    Attributes:
        operation: The name of the operation.
        text: The whole operation.
        left: The estimated cycles from its start to the end of the chain.
        cycles: The estimated cycles from its start to the start of the next operation.
    """

    operation: str
    text: str
    left: int
    cycles: int

    @property
    def mnemonic(self) -> Mnemonic | None:
        """The known mnemonic of the operation, or None if it is unknown."""
        return find_mnemonic(self.operation)


@dataclass(frozen=True)
class Chain:
    """The longest chain of operations in one block of a kernel, in which each operation waits for the previous one.

    Attributes:
        region: libtpu's name of the region that contains the block.
        steps: The operations, in order.
    """

    region: str
    steps: tuple[Step, ...]

    @property
    def cycles(self) -> int:
        """The cycles of the whole chain, as libtpu estimates them."""
        return self.steps[0].left if self.steps else 0


def parse_chains(text: str) -> tuple[Chain, ...]:
    """Parse libtpu's critical-path text of a kernel into the longest chain of each basic block, in order."""
    # A block ends where the next one starts; the slice handles a text without blocks, for which both lists are empty.
    starts = list(_BLOCK.finditer(text))
    ends = [*(match.start() for match in starts[1:]), len(text)][: len(starts)]
    return tuple(
        Chain(match["region"], tuple(_read_steps(text[match.end() : end])))
        for match, end in zip(starts, ends, strict=True)
    )


def _read_steps(text: str) -> Iterator[Step]:
    matches = list(_STEP.finditer(text))
    # The last operation of a chain takes all cycles that remain.
    following = [*(int(match["left"]) for match in matches[1:]), 0][: len(matches)]
    for match, after in zip(matches, following, strict=True):
        assignment = f"%{match['result']} = " if match["result"] else ""
        cycles = int(match["left"])
        yield Step(match["operation"], f"{assignment}{match['operation']}{match['rest']}", cycles, cycles - after)


@dataclass(frozen=True)
class Schedule:
    """libtpu's summary of a kernel's schedule: its numbers of bundles, and the HLO instructions in them.

    Attributes:
        bundles: The number of bundles.
        empty: The number of empty bundles among them.
        instructions: The HLO instructions that the bundles implement: name to line of HLO text.
    """

    bundles: int
    empty: int
    instructions: Mapping[str, str]

    @property
    def op_names(self) -> Mapping[str, str]:
        """The `op_name` of each instruction that has one, by instruction name."""
        return {name: match[1] for name, line in self.instructions.items() if (match := _OP_NAME.search(line))}


def parse_schedule(text: str) -> Schedule:
    """Parse libtpu's summary of a schedule; missing totals are 0."""
    total = _TOTAL.search(text)
    names = {match["name"]: match["text"] for match in _HLO.finditer(text)}
    return Schedule(int(total["all"]) if total else 0, int(total["empty"]) if total else 0, names)
