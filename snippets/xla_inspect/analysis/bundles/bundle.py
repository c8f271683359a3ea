"""A parser for the listing that libtpu prints of a finished kernel: its bundles, their operations, and its loops."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles.bundle_units import NOTHING, find_mnemonic, find_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.analysis.bundles.bundle_units import Mnemonic

KEY = "control target key end"
"""The last line of the explanation of labels that precedes a listing."""

UNKNOWN = "unknown"
"""The key under which operations of an unknown unit are counted."""

_START = re.compile(r"^ *(?P<address>0x[0-9a-f]+|0) +(?P<label>[A-Z]{2})? *: (?P<depth>>*) ?(?=\{)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SLOT = re.compile(r"(?:%(?P<result>\S+) = )?(?P<operation>[^\s()]+)(?P<rest>.*)", re.DOTALL)
_TARGET = re.compile(r"target = \$(\w+)")
_REGION = re.compile(r"\bregion (\d+)")
_EXIT = re.compile(r"%(?P<mask>\S+) = scmp\.ge\.s32\.totalorder %(?P<counter>\S+), (?P<end>\d+) /\* loop exit test \*/")


@dataclass(frozen=True)
class Slot:
    """An operation of a bundle.

    Attributes:
        operation: Its name, such as `vmatmul.bf16.gmra.mxu0`.
        result: The name of its result, or an empty string.
        text: The whole operation, without comments.
    """

    operation: str
    result: str
    text: str

    @cached_property
    def mnemonic(self) -> Mnemonic | None:
        """The known mnemonic of the operation, or None if it is unknown."""
        return find_mnemonic(self.operation)

    @property
    def unit(self) -> str:
        """The key of the unit, or `UNKNOWN`."""
        return self.mnemonic.unit.key if self.mnemonic else UNKNOWN

    @property
    def number(self) -> int | None:
        """The number of the unit among several equal ones, or None if the operation's name contains none."""
        return find_number(self.operation)


@dataclass(frozen=True)
class Bundle:
    """Operations that a TPU's core issues in the same cycle.

    Attributes:
        address: Its position in the kernel.
        label: The kind of branch target: `LB` for a loop body, `PF` for code after a part that a condition may skip;
            empty if it is no branch target.
        depth: The number of loops around it.
        slots: Its operations; empty if the core waits for a cycle.
        start: The position in the listing at which its text begins.
        end: The position in the listing at which its text ends.
    """

    address: int
    label: str
    depth: int
    slots: tuple[Slot, ...]
    start: int
    end: int

    @cached_property
    def units(self) -> Mapping[str, int]:
        """The number of operations by the unit's key, without operations that use no slot."""
        return Counter(slot.unit for slot in self.slots if slot.unit != NOTHING)


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel.

    Attributes:
        first: The address of its first bundle.
        last: The address of the bundle with the branch back; a few more bundles run before the branch takes effect.
        depth: The number of nested loops, including this one.
        trips: The trip count if the listing shows a counter from 0 up to a constant, otherwise None.
    """

    first: int
    last: int
    depth: int
    trips: int | None

    @property
    def bundles(self) -> int:
        """The number of bundles from the first of the loop's body to the branch back."""
        return self.last - self.first + 1


def parse_bundles(listing: str) -> tuple[Bundle, ...]:
    """Return the bundles of a listing, in order."""
    # The explanation of the labels precedes the bundles, so parsing starts after it.
    begin = max(listing.find(KEY), 0)
    starts = list(_START.finditer(listing, begin))
    ends = [*(match.start() for match in starts[1:]), len(listing)][: len(starts)]
    return tuple(
        Bundle(
            int(match["address"], 16),
            match["label"] or "",
            len(match["depth"]),
            tuple(_read_slots(listing[match.end() : end])),
            match.start(),
            end,
        )
        for match, end in zip(starts, ends, strict=True)
    )


def _read_slots(text: str) -> Iterable[Slot]:
    """Yield the operations of a bundle, whose text begins with the opening brace."""
    # Comments may contain braces and separators, so they are removed before the slots are split.
    body = _COMMENT.sub("", text).strip().removeprefix("{").removesuffix("}")
    for part in body.split(" ;; "):
        if match := _SLOT.fullmatch(part.strip()):
            yield Slot(match["operation"], match["result"] or "", " ".join(part.split()))


def count_units(bundles: Iterable[Bundle]) -> dict[str, int]:
    """Return the number of operations by the unit's key, without operations that use no slot."""
    total = Counter[str]()
    for bundle in bundles:
        total.update(bundle.units)
    return dict(total)


def list_unknown(bundles: Iterable[Bundle]) -> dict[str, int]:
    """Return the operations that the table of units does not contain, each with its number of occurrences."""
    return dict(Counter(slot.operation for bundle in bundles for slot in bundle.slots if slot.mnemonic is None))


def find_loops(listing: str, bundles: Iterable[Bundle]) -> tuple[Loop, ...]:
    """Return the loops of a kernel in order, each from the first bundle of its body to the branch back to it.

    Args:
        listing: The text of the listing.
        bundles: The bundles of the listing, in order.
    """
    loops: list[Loop] = []
    open_bodies: list[tuple[Bundle, frozenset[str]]] = []
    sequence = list(bundles)
    for bundle in sequence:
        text = listing[bundle.start : bundle.end]
        if bundle.label == "LB":
            open_bodies.append((bundle, frozenset(_REGION.findall(text))))
        for name in _TARGET.findall(text):
            # Search from the innermost open body, because a branch back closes the most recent loop with its region.
            for position in range(len(open_bodies) - 1, -1, -1):
                body, regions = open_bodies[position]
                if name.removeprefix("region") in regions:
                    trips = _read_trips(listing, body, bundle)
                    loops.append(Loop(body.address, bundle.address, body.depth, trips))
                    del open_bodies[position]
                    break
    # A loop ends after its inner loops, but is listed before them.
    return tuple(sorted(loops, key=lambda loop: (loop.first, -loop.last)))


def _read_trips(listing: str, body: Bundle, branch: Bundle) -> int | None:
    """Return the trip count of a loop whose counter goes from 0 to a constant in steps of one, otherwise None.

    The loop tests its condition at the end, so the body runs at least once.
    """
    text = listing[body.start : branch.end]
    for test in _EXIT.finditer(text):
        # A test without a branch on its result does not end the loop.
        jump = re.search(rf"sbr\.rel \(!%{re.escape(test['mask'])}\)", text[test.start() :])
        counter = re.escape(test["counter"])
        increment = re.search(rf"%{counter} = sadd\.s32 1, %(\S+)", text)
        if not (jump and increment):
            continue
        merge = re.search(rf"%{re.escape(increment[1])} = sphi %(\S+), %{counter}\b", text)
        start = merge and re.search(rf"%{re.escape(merge[1])} = smov\.u32 0\b", listing[: body.start])
        if start:
            return int(test["end"])
    return None
