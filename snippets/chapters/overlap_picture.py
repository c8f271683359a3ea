"""A picture of the overlap of kernels and collectives: kernels in scheduled order, with each collective below them."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_collectives
from xla_inspect.plural import plural
from xla_inspect.report import figure, model_launches, svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.analysis import Collective
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

# CSS pixels: the width of a phone's column, the maximum width of a kernel, heights of kernels and exchanges, and gaps.
WIDTH, WIDEST, TALL, THIN, GAP, LINE = 352, 44.0, 16, 6, 3, 12
_BOOKKEEPING = 1 << 16
"""The number of operations up to which a launch only computes an index or a counter."""


@dataclass(frozen=True)
class Schedule:
    """The scheduled order of one computation.

    Attributes:
        kernels: The position and the name of each kernel that computes.
        exchanges: For each collective its name, the position of its start and the position after its end. A collective
            that no kernel overlaps has a position of its own.
        length: The number of positions.
    """

    kernels: tuple[tuple[int, str], ...]
    exchanges: tuple[tuple[str, int, int], ...]
    length: int

    @property
    def hidden(self) -> int:
        """The number of exchanges with a kernel between their start and their end."""
        places = [place for place, _ in self.kernels]
        return sum(any(start <= place < end for place in places) for _, start, end in self.exchanges)


def read_schedule(capture: Capture) -> Schedule:
    """Return the schedule of the first computation of a capture that contains both collectives and kernels.

    Raises:
        ValueError: No computation contains both.
    """
    working = {
        item.launch.scheduled
        for item in model_launches(capture)
        if item.launch.role == "kernel" and item.work.flops > _BOOKKEEPING
    }
    collectives = list_collectives(capture.module)
    for name in dict.fromkeys(item.scheduled.computation for item in collectives):
        order = capture.module.computation(name).instructions
        # In a computation without kernels, a collective has nothing to overlap with.
        if working & set(order):
            return _place(order, working, [item for item in collectives if item.scheduled.computation == name])
    message = f"{capture.program} for {capture.target} has no computation with both collectives and kernels"
    raise ValueError(message)


def draw_overlap(captures: Mapping[str, Capture], caption: str) -> str:
    """Return a row for each capture as HTML: its kernels in order, and a bar for each exchange from start to end.

    Args:
        captures: The capture of each row, by the row's label.
        caption: A description of the picture, plain text, without a full stop.

    Raises:
        ValueError: A capture has no computation with both collectives and kernels.
    """
    marks: list[str] = []
    descriptions: list[str] = []
    schedules = {label: read_schedule(capture) for label, capture in captures.items()}
    longest = max(schedule.length for schedule in schedules.values())
    # Without a maximum, a short schedule would fill the row with a few very wide boxes.
    step = min(WIDEST, WIDTH / longest)
    y = 0.0
    for label, schedule in schedules.items():
        description = (
            f"{label}: {schedule.hidden} of {plural(len(schedule.exchanges), 'exchange')} overlapped by kernels"
        )
        descriptions.append(description)
        marks.append(f'<text x="0" y="{y + LINE - 2:.1f}">{html.escape(label)}</text>')
        y += LINE + GAP
        marks += [
            f'<rect x="{place * step + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{TALL}">'
            f"<title>{html.escape(name)}</title></rect>"
            for place, name in schedule.kernels
        ]
        y += TALL + GAP
        for name, start, end in schedule.exchanges:
            marks.append(
                f'<rect class="part" x="{start * step + 1:.1f}" y="{y:.1f}" width="{(end - start) * step - 2:.1f}" '
                f'height="{THIN}"><title>{html.escape(name)}</title></rect>'
            )
            y += THIN + GAP
        y += LINE
    picture = svg("".join(marks), f"{caption}. {'; '.join(descriptions)}", (WIDTH, round(y - LINE, 1)))
    return figure("cuts", picture, f"{html.escape(caption)}.")


def _place(order: Sequence[Instruction], working: set[Instruction], collectives: Sequence[Collective]) -> Schedule:
    """Return the schedule with positions for kernels and for collectives that no kernel overlaps."""
    starts = {collective.scheduled: collective for collective in collectives}
    dones = {collective.done: collective for collective in collectives if collective.done is not collective.scheduled}
    kernels: list[tuple[int, str]] = []
    starts_at: dict[Collective, int] = {}
    exchanges: list[tuple[str, int, int]] = []
    place = 0
    for instruction in order:
        if instruction in starts and starts[instruction].done is not instruction:
            # An asynchronous collective ends only at its done instruction, so its bar is added there.
            starts_at[starts[instruction]] = place
        elif instruction in starts:
            # A synchronous collective overlaps no kernel, so it takes a position of its own.
            exchanges.append((instruction.name, place, place + 1))
            place += 1
        elif instruction in dones:
            first = starts_at[dones[instruction]]
            # Without a kernel between start and done, the device waits, which takes one position.
            end = max(place, first + 1)
            exchanges.append((dones[instruction].scheduled.name, first, end))
            place = end
        elif instruction in working:
            kernels.append((place, instruction.name))
            place += 1
    # Exchanges are added when they end, but they are drawn in the order of their starts.
    return Schedule(tuple(kernels), tuple(sorted(exchanges, key=lambda collective: collective[1])), place)
