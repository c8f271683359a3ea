"""The log of a compiler, event by event, and its conversion to JSON data and back."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One message of a compiler, logged while a pass ran.

    Attributes:
        run: The number of the pass run, counted from 0 in the order of their starts, including runs of nested
            pipelines; -1 outside of any pass.
        pipeline: The pipeline that ran the pass.
        name: The name of the pass.
        module: The HLO module that the pass ran on; it may be a part that the compiler extracted from the program.
        source: The file of XLA that logged the message, without its suffix, such as `instruction_fusion`.
        line: The line in that file.
        text: The message, on one or several lines, without times, folders and other details of the machine.
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
        The runs of passes, each with pipeline, name and module, and the events, each with the position of its run.
    """
    # Many events share the run of a pass, so each run is stored once and referenced by position.
    steps: dict[tuple[Any, ...], int] = {}
    rows = []
    for event in events:
        *step, source, line, text = astuple(event)
        rows.append([steps.setdefault(tuple(step), len(steps)), source, line, text])
    return [[list(step) for step in steps], rows]


def read_log(data: Sequence[Any]) -> tuple[LogEvent, ...]:
    """Return the events from the JSON data that `write_log` returned."""
    steps, text = data
    return tuple(LogEvent(*steps[step], *words) for step, *words in text)
