"""The answer about the launches of a capture: the line, the work and the least time (at peak rates) of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, Stage, find_stage, tell_failure
from xla_inspect.answers import Answer, LineTotal, sum_lines, sum_scopes
from xla_inspect.errors import InspectError
from xla_inspect.questions.kernels.launch_rows import LaunchRow, describe_launches
from xla_inspect.questions.kernels.row_limit import USUAL_ROWS
from xla_inspect.spelling import list_nearest
from xla_inspect.targets import explain_absence, explain_tiles, find_hardware

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


_TILED = "__triton_nested_gemm_fusion"
"""The kind of fusion for a matmul whose tile sizes the compiler chose."""

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
_WHOLE, _LONGEST = 100, 600


@dataclass(frozen=True)
class Kernels(Answer):
    """The launches of a program, the one with the greatest least time first.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The target's short name, with its grid.
        launches: All launches, sorted by the least time of all their runs, or by the bytes they move if there is none.
        lines: The totals by line of Python: the least time of all runs in seconds, or bytes if there is none.
        scopes: The totals by scope (`text`) of the line with at least half of the amount, such as the call of a
            library's model. Launches without a line count as one line. Empty if no line has that share, or if it has
            only one scope.
        shown: The number of launches to show, from the first.
        named: The launches that were requested by name and are shown in detail.
        least_seconds: The least time of all launches one after the other, each with its known number of runs; None if
            no peak rates of the target are published.
        unknown_runs: The number of launches with an unknown number of runs, which count once.
        model: The limits of the model of the least time, or the reason why the target has none.
        registers_gap: The reason why registers are unknown, or an empty string.
        error: The compiler's error message, or an empty string if it succeeded.
        stage: The stage of the module that contains the launches.
    """

    program: str
    asked: str
    target: str
    launches: tuple[LaunchRow, ...]
    lines: tuple[LineTotal, ...]
    scopes: tuple[LineTotal, ...]
    shown: int
    named: tuple[str, ...]
    least_seconds: float | None
    unknown_runs: int
    model: str
    registers_gap: str
    error: str
    stage: Stage

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, a table of the launches or details of the named ones, and a hint."""
        from xla_inspect.questions.kernels.rendering import render

        return render(self)


def rank_launches(
    capture: Capture,
    command_words: str = "",
    *,
    names: Collection[str] = (),
    shown: int = USUAL_ROWS,
    registers: Mapping[str, tuple[int, int, int]] | str = "",
) -> Kernels:
    """Return the launches in a capture, the greatest least time (a computed bound, not a measured time) first.

    Args:
        capture: The program's capture. It does not need the modules between passes.
        command_words: The subject and options, as on the command line.
        names: Launches to show in detail, by the name of their instruction or of their kernel in the code.
        shown: The number of launches to show if `names` is empty.
        registers: The registers of kernels by symbol, as `describe_launches` accepts them, or the reason why they are
            unknown.

    Raises:
        InspectError: There is no launch with one of the names.
    """
    rows = describe_launches(capture, {} if isinstance(registers, str) else registers) if capture.after else ()
    # A program that does not compile has no launches, which is not an error in the names.
    requested = find_names(rows, names) if rows else ()
    hardware = find_hardware(capture.target)
    return Kernels(
        program=capture.program,
        asked=command_words,
        target=capture.target,
        launches=tuple(sorted(rows, key=lambda row: row.weight, reverse=True)),
        # Without peak rates there are no least times, so the bytes are added up instead.
        lines=sum_lines((row.where, row.text, row.weight[not hardware]) for row in rows),
        scopes=sum_scopes([(row.where, row.scope.rpartition("/")[0], row.weight[not hardware]) for row in rows]),
        shown=shown,
        named=requested,
        least_seconds=sum(row.weight[0] for row in rows) if hardware else None,
        unknown_runs=sum(row.runs is None for row in rows),
        model=_describe_model(capture),
        registers_gap=registers if isinstance(registers, str) else "",
        error=tell_failure(capture),
        stage=find_stage(capture),
    )


def answer_dump(capture: Capture, command_words: str) -> Kernels:
    """Return the launches of a module of a dump, all of which are shown."""
    # The length of the text is an upper bound of the number of launches.
    return rank_launches(capture, command_words, shown=len(capture.after))


def _describe_model(capture: Capture) -> str:
    """Return a text with the limits of the least times, or why there are none, and the origin of a GPU's tiles."""
    hardware = find_hardware(capture.target)
    model = f"{STATEMENT} {hardware.gap}".strip() if hardware else explain_absence(capture.target)
    # Only Triton's fusions of nested matmuls have tiles whose origin has to be explained.
    tiles = explain_tiles(capture.options) if _TILED in capture.after else ""
    return f"{model} The tiles of matmuls are {tiles}." if tiles else model


def find_names(rows: Collection[LaunchRow], names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the launches for names of instructions or kernels, with or without a leading `%`.

    Raises:
        InspectError: There is no launch with one of the names.
    """
    launches = {row.name: row.name for row in rows}
    # An instruction's name wins over an equal symbol, since the answer lists launches by instruction.
    launches |= {row.symbol: row.name for row in rows if row.symbol and row.symbol not in launches}
    for name in (bare for bare in (name.removeprefix("%") for name in names) if bare not in launches):
        close = list_nearest(name, launches, 3, 0.5) or list(launches)[:3]
        message = f"there is no launch {name!r}"
        if close:
            message = f"{message}; did you mean {' or '.join(close)}?"
        raise InspectError(message)
    return tuple(dict.fromkeys(launches[name.removeprefix("%")] for name in names))


def show_seconds(seconds: float) -> str:
    """Return a time in seconds as text with three digits and a fitting unit, as in `1.25 ms`."""
    if not seconds:
        return "0"
    # A time below the smallest unit is shown in this unit.
    unit, least = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    number = seconds / least
    return f"{number:.0f} {unit}" if number >= _WHOLE else f"{number:.3g} {unit}"
