"""What a device computes while it exchanges: kernels in the order of the schedule, and below them each collective."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_collectives
from xla_inspect.report import figure, model_launches, svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.analysis import Collective
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

# CSS pixels: the column of a phone, the widest that a kernel is drawn, heights of a kernel and an exchange, and gaps.
WIDTH, WIDEST, TALL, THIN, GAP, LINE = 352, 44.0, 16, 6, 3, 12
_BOOKKEEPING = 1 << 16
"""Operations below which a launch only finds a place or counts."""


@dataclass(frozen=True)
class Schedule:
    """One computation's order.

    Attributes:
        kernels: The place of each kernel that computes, and its name.
        exchanges: For each collective its name, the place of its start and that after its end; one that is waited for
            holds a place of its own.
        length: How many places there are.
    """

    kernels: tuple[tuple[int, str], ...]
    exchanges: tuple[tuple[str, int, int], ...]
    length: int

    @property
    def hidden(self) -> int:
        """How many exchanges have a kernel between their start and their end."""
        places = [place for place, _ in self.kernels]
        return sum(any(start <= place < end for place in places) for _, start, end in self.exchanges)


def read_schedule(capture: Capture) -> Schedule:
    """Return the schedule of the first computation in which a capture exchanges something and computes.

    Raises:
        ValueError: The capture has no collective beside kernels.
    """
    working = {
        each.launch.scheduled
        for each in model_launches(capture)
        if each.launch.role == "kernel" and each.work.flops > _BOOKKEEPING
    }
    collectives = list_collectives(capture.module)
    for name in dict.fromkeys(each.scheduled.computation for each in collectives):
        order = capture.module.computation(name).instructions
        if working & set(order):
            return _place(order, working, [each for each in collectives if each.scheduled.computation == name])
    message = f"{capture.program} for {capture.target} has no collective beside kernels"
    raise ValueError(message)


def draw_overlap(captures: Mapping[str, Capture], caption: str) -> str:
    """Return a row for each capture as HTML: its kernels in order, and a bar for each exchange from start to done.

    Args:
        captures: What is said of a row, to the capture.
        caption: What is shown, plain text.

    Raises:
        ValueError: A capture has no collective beside kernels.
    """
    drawn: list[str] = []
    said: list[str] = []
    schedules = {label: read_schedule(capture) for label, capture in captures.items()}
    longest = max(schedule.length for schedule in schedules.values())
    step = min(WIDEST, WIDTH / longest)
    y = 0.0
    for label, schedule in schedules.items():
        told = f"{label}: {schedule.hidden} of {len(schedule.exchanges)} beside kernels"
        said.append(told)
        drawn.append(f'<text x="0" y="{y + LINE - 2:.1f}">{html.escape(label)}</text>')
        y += LINE + GAP
        drawn += [
            f'<rect x="{place * step + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{TALL}">'
            f"<title>{html.escape(name)}</title></rect>"
            for place, name in schedule.kernels
        ]
        y += TALL + GAP
        for name, start, end in schedule.exchanges:
            drawn.append(
                f'<rect class="part" x="{start * step + 1:.1f}" y="{y:.1f}" width="{(end - start) * step - 2:.1f}" '
                f'height="{THIN}"><title>{html.escape(name)}</title></rect>'
            )
            y += THIN + GAP
        y += LINE
    picture = svg("".join(drawn), f"{caption}. {'; '.join(said)}", (WIDTH, round(y - LINE, 1)))
    return figure("cuts", picture, f"{html.escape(caption)}.")


def _place(order: Sequence[Instruction], working: set[Instruction], collectives: Sequence[Collective]) -> Schedule:
    """Number what computes and what is waited for; a start and its done stand between the places."""
    starts = {each.scheduled: each for each in collectives}
    dones = {each.done: each for each in collectives if each.done is not each.scheduled}
    kernels: list[tuple[int, str]] = []
    begun: dict[Collective, int] = {}
    exchanges: list[tuple[str, int, int]] = []
    place = 0
    for instruction in order:
        if instruction in starts and starts[instruction].done is not instruction:
            begun[starts[instruction]] = place
        elif instruction in starts:
            exchanges.append((instruction.name, place, place + 1))
            place += 1
        elif instruction in dones:
            first = begun[dones[instruction]]
            # With nothing between, the device waits from the one to the other.
            end = max(place, first + 1)
            exchanges.append((dones[instruction].scheduled.name, first, end))
            place = end
        elif instruction in working:
            kernels.append((place, instruction.name))
            place += 1
    return Schedule(tuple(kernels), tuple(sorted(exchanges, key=lambda each: each[1])), place)
