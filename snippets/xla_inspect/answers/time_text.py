"""The text of an estimated time in the answers of other questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.estimates import list_options
from xla_inspect.targets import title
from xla_inspect.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.estimates import Estimate, StepTime

STATEMENT = "Times on the device are estimates by cost models, not measurements."
"""The disclaimer of each answer that shows estimated times."""


def say_time(time: Estimate) -> str:
    """Return an estimate with its range, as in `about 4.86 µs (2.6 to 10.1 µs)`.

    If a part is not known, the text is as in `at least 2.6 µs (about 4.86 µs for the known parts)`.
    """
    if time.is_least:
        return f"at least {format_seconds(time.low)} (about {format_seconds(time.likely)} for the known parts)"
    return f"about {show_time(time)}"


def show_time(time: Estimate | None) -> str:
    """Return an estimate with its range for a table, as in `4.86 µs (2.6 to 10.1 µs)`; an empty string for None."""
    return f"{format_seconds(time.likely)} ({show_range(time)})" if time else ""


def show_range(time: Estimate) -> str:
    """Return the range of an estimate, as in `2.6 to 10.1 µs`, or `2.6 µs or more` if a part is not known."""
    low, high = format_seconds(time.low), format_seconds(time.high)
    if time.is_least:
        return f"{low} or more"
    # The unit is shown once if both ends have the same.
    number, _, unit = low.partition(" ")
    return f"{number if unit == high.partition(' ')[2] else low} to {high}"


def explain_times(steps: Mapping[str, StepTime | None]) -> str:
    """Return the disclaimer, with the targets that lack the compiler's own estimates; '' if no target has one."""
    estimates = {target: step for target, step in steps.items() if step}
    wider = [target for target, step in estimates.items() if not step.has_figures]
    requested = "; `xla-inspect time` requests them if it compiles the program" if any(map(list_options, wider)) else ""
    names = " and ".join(map(title, wider))
    more = f" The ranges on {names} may be wider, because the compiler's own estimates are missing{requested}."
    return (STATEMENT + (more if wider else "")) if estimates else ""
