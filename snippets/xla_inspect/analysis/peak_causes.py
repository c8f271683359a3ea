"""The causes of a high memory peak, which are early values, padding and constants, and their remedies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis.memory_plan import find_peak, parse_buffers, parse_live_ranges, place_temporaries
from xla_inspect.analysis.value_flow import RENAMING
from xla_inspect.plural import plural
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis.allocation import LiveRanges, Placement
    from xla_inspect.analysis.peak import Held
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

type CauseKind = Literal["schedule", "padding", "constants"]

SCHEDULER = ("xla_cpu_scheduler_type", "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED")
"""The option that makes XLA's CPU scheduler minimize memory. The options of its GPU scheduler do not delay early
values, and its TPU scheduler delays them without an option."""

LEAST = 0.05
"""The share of the peak below which a cause is not reported."""

_EARLY_VALUES = 2
_HANDED_ON = RENAMING | {"get-tuple-element"}

CAUSES: dict[CauseKind, str] = {
    "schedule": "The order of instructions holds {bytes}: {values} computed before the peak and first read after it, "
    "although the inputs are there until then.",
    "padding": "Padding holds {bytes}: tiles that are filled up, in {values}.",
    "constants": "Constants hold {bytes}: arrays that the program closes over, in {values}.",
}
"""A template of a sentence for each cause of a high peak."""

REMEDIES: dict[CauseKind, str] = {
    "schedule": "let each wait for the one before: run them in jax.lax.scan or jax.lax.map in place of a Python loop, "
    "or tie one's input to the other's result with jax.lax.optimization_barrier",
    "padding": "put a long dimension last, or merge the short ones into one: a TPU fills the last two up to a tile",
    "constants": "pass them as arguments: an array that the function closes over is a part of the program, and of the "
    "memory of each device",
}
"""The remedy for each cause."""

_NO_OPTION = f"{REMEDIES['schedule']}; no option of XLA for this target is known to change the order"


@dataclass(frozen=True)
class PeakCause:
    """One cause of a high peak.

    Attributes:
        kind: `schedule` for values that are computed before the peak and first read after it, although their operands
            are still live then; `padding` for the padding of tiles; `constants` for arrays that the program closes
            over.
        bytes: The bytes at the peak that it accounts for.
        values: The number of values that contain those bytes.
        remedy: The remedy.
    """

    kind: CauseKind
    bytes: int
    values: int
    remedy: str

    def __str__(self) -> str:
        """Return a sentence that describes the cause."""
        return CAUSES[self.kind].format(bytes=format_bytes(self.bytes), values=plural(self.values, "value"))


def find_peak_causes(capture: Capture, values: Sequence[Held]) -> tuple[PeakCause, ...]:
    """Return the causes that account for more than the share `LEAST` of the peak each, largest first.

    Args:
        capture: The capture.
        values: The values in main memory at the peak, from `list_held`.
    """
    sizes: dict[CauseKind, list[int]] = {
        # Without live ranges, no value can be said to be computed too early.
        "schedule": [row.size for row in _find_early(capture)] if capture.buffers and capture.live_ranges else [],
        "padding": [value.padding for value in values if value.padding],
        "constants": [value.size for value in values if value.role == "constant"],
    }
    least = LEAST * sum(value.size for value in values)
    remedies = REMEDIES if capture.target.startswith("cpu") else REMEDIES | {"schedule": _NO_OPTION}
    causes = [PeakCause(kind, sum(of), len(of), remedies[kind]) for kind, of in sizes.items() if sum(of) > least]
    return tuple(sorted(causes, key=lambda cause: -cause.bytes))


def _find_early(capture: Capture) -> Sequence[Placement]:
    """Return the temporaries at the peak that could be computed after it; empty if there is only one."""
    ranges = parse_live_ranges(capture.live_ranges)
    rows = place_temporaries(parse_buffers(capture.buffers), ranges)
    if not rows or capture.is_plan:
        return ()
    peak, _ = find_peak(rows)
    order = _Order(capture, ranges)
    early = [row for row in rows if (row.start or 0) < peak <= (row.end or 0) and order.is_early(row, peak)]
    return early if len(early) >= _EARLY_VALUES else ()


class _Order:
    """The execution order of a capture's instructions, and the live ranges of their values."""

    def __init__(self, capture: Capture, ranges: LiveRanges) -> None:
        self.module = capture.module
        self.ranges = ranges
        self.positions = {name: at for at, name in enumerate(ranges.sequence)}
        self.entry = self.module.entry.by_name

    def is_early(self, row: Placement, peak: int) -> bool:
        """Return whether a value is first read after the peak while its operands are live at the peak."""
        # Values inside loops and calls have no position in the entry computation.
        instruction = self.entry.get(row.instruction)
        if instruction is None:
            return False
        reads = [self.positions[name] for name in self._list_readers(instruction, row.index) if name in self.positions]
        return bool(reads) and min(reads) > peak and self._lives(instruction, min(reads))

    def _list_readers(self, instruction: Instruction, index: tuple[int, ...] = ()) -> Iterator[str]:
        for user in self.module.users(instruction):
            if index and user.opcode == "get-tuple-element":
                if int(user.attributes["index"]) == index[0]:
                    yield from self._list_readers(user, index[1:])
            # Instructions that only rename a value do not read it, so their users count instead.
            elif user.opcode in RENAMING:
                yield from self._list_readers(user, index)
            else:
                yield user.name

    def _lives(self, instruction: Instruction, until: int) -> bool:
        """Return whether all operands of an instruction are live until a position."""
        for operand in self.module.operands(instruction):
            # Parameters and constants are in memory for the whole run.
            if operand.opcode in {"parameter", "constant"}:
                continue
            if operand.opcode in _HANDED_ON:
                if not self._lives(operand, until):
                    return False
                continue
            live = self.ranges.by_value.get((operand.name, ()))
            if live is None or live.end < until:
                return False
        return True
