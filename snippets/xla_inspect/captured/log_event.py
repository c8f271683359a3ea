"""The log of a compiler, event by event, and its storage."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One message of a compiler, logged while a pass ran.

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
    """Return events as JSON data in which shared parts are stored once.

    Returns:
        The runs of passes, each with pipeline, name and module; the events, each with the position of its run there.
    """
    steps: dict[tuple[Any, ...], int] = {}
    sentence = []
    for event in events:
        *step, source, line, text = astuple(event)
        sentence.append([steps.setdefault(tuple(step), len(steps)), source, line, text])
    return [[list(step) for step in steps], sentence]


def read_log(written: Sequence[Any]) -> tuple[LogEvent, ...]:
    """Return the events that `write_log` wrote."""
    steps, text = written
    return tuple(LogEvent(*steps[step], *words) for step, *words in text)
