"""What a compiler said while it compiled, event by event, and how that is stored."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class LogEvent:
    """Something that the compiler said of what it does while a pass ran.

    Attributes:
        run: Which run of a pass that was, counted from 0 in the order in which they began, those of pipelines inside
            pipelines among them; -1 where no pass ran.
        pipeline: The pipeline that ran the pass.
        name: The pass.
        module: The HLO module that it ran on, which may be another than the program's: a compiler takes parts out.
        source: The file of XLA that says it, without its suffix, such as `instruction_fusion`.
        line: The line in that file.
        text: The words, in one line or several, without times, folders and what else is of the machine.
    """

    run: int
    pipeline: str
    name: str
    module: str
    source: str
    line: int
    text: str


def write_log(events: Iterable[LogEvent]) -> list[Any]:
    """Return events as JSON holds them, with what many of them share said once.

    Returns:
        The runs of passes, each with pipeline, name and module; the events, each with the position of its run there.
    """
    steps: dict[tuple[Any, ...], int] = {}
    said = []
    for event in events:
        *step, source, line, text = astuple(event)
        said.append([steps.setdefault(tuple(step), len(steps)), source, line, text])
    return [[list(step) for step in steps], said]


def read_log(written: Sequence[Any]) -> tuple[LogEvent, ...]:
    """Return the events that `write_log` wrote."""
    steps, said = written
    return tuple(LogEvent(*steps[step], *words) for step, *words in said)
