"""The launches of a capture, each with its line, its work and its least time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, Stage, find_stage, tell_failure
from xla_inspect.answers import Answer, LineTotal, sum_lines, sum_scopes
from xla_inspect.errors import InspectError
from xla_inspect.questions.kernels.launch_rows import LaunchRow, describe_launches
from xla_inspect.spelling import list_nearest
from xla_inspect.targets import explain_absence, explain_tiles, find_hardware

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


USUAL_ROWS = 12
"""The number of launches that are shown by default."""

_TILED = "__triton_nested_gemm_fusion"
"""The kind of fusion of a matmul whose tile the compiler chose."""

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
_WHOLE, _LONGEST = 100, 600


@dataclass(frozen=True)
class Kernels(Answer):
    """The launches of a program, the one with the greatest least time first.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        target: The target's short name, with its grid.
        launches: All launches, by the least time of all their runs, where there is none by the bytes they move.
        lines: The same by line of Python: seconds at least of all runs, bytes where there is no least time.
        scopes: The same by scope, of the one line that most comes from, as that of a call of a library's model, or of
            all without a line; each `text` is a scope. Empty where neither has most, or those have one scope.
        shown: How many launches are told, from the first.
        named: The launches that were asked for by name, which are told in detail.
        least_seconds: The least time of all together, one after the other, each as often as it is known to run; None
            where no peaks of the target are published.
        unknown_runs: How many of them run an unknown number of times, and count once.
        model: What the least times leave out, or why there are none.
        registers_gap: Why registers are not known, or an empty string.
        error: What the compiler said where it gave up, or an empty string.
        stage: The stage of the module whose launches these are.
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
        """Yield the sentence, the launches or those that were asked for, and what to ask next."""
        from xla_inspect.questions.kernels.rendering import render

        return render(self)


def rank_launches(
    capture: Capture,
    asked: str = "",
    *,
    names: Collection[str] = (),
    shown: int = USUAL_ROWS,
    registers: Mapping[str, tuple[int, int, int]] | str = "",
) -> Kernels:
    """Return what a program launches on one target.

    Args:
        capture: Its capture, which needs no modules between passes.
        asked: What was asked about, as on the command line.
        names: Launches to tell in detail: the names of their instructions, or of their kernels in the code.
        shown: How many to tell where none are named.
        registers: Of kernels by their symbol, see `describe_launches`; or why they are not known.

    Raises:
        InspectError: There is no such launch.
    """
    rows = describe_launches(capture, {} if isinstance(registers, str) else registers) if capture.after else ()
    found = find_names(rows, names) if rows else ()
    hardware = find_hardware(capture.target)
    return Kernels(
        program=capture.program,
        asked=asked,
        target=capture.target,
        launches=tuple(sorted(rows, key=lambda row: row.weight, reverse=True)),
        lines=sum_lines((row.where, row.text, row.weight[not hardware]) for row in rows),
        scopes=sum_scopes([(row.where, row.scope.rpartition("/")[0], row.weight[not hardware]) for row in rows]),
        shown=shown,
        named=found,
        least_seconds=sum(row.weight[0] for row in rows) if hardware else None,
        unknown_runs=sum(row.runs is None for row in rows),
        model=_describe_model(capture),
        registers_gap=registers if isinstance(registers, str) else "",
        error=tell_failure(capture),
        stage=find_stage(capture),
    )


def answer_dump(capture: Capture, asked: str) -> Kernels:
    """Return the answer about a module of a dump, with all launches."""
    return rank_launches(capture, asked, shown=len(capture.after))


def _describe_model(capture: Capture) -> str:
    """Return what least times leave out, or why there are none, and the origin of a GPU's tiles."""
    hardware = find_hardware(capture.target)
    model = f"{STATEMENT} {hardware.gap}".strip() if hardware else explain_absence(capture.target)
    tiles = explain_tiles(capture.options) if _TILED in capture.after else ""
    return f"{model} The tiles of matmuls are {tiles}." if tiles else model


def find_names(rows: Collection[LaunchRow], names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the launches that are meant by names of instructions or of kernels, `%` or none before them.

    Raises:
        InspectError: One of them is meant by none.
    """
    known = {row.name: row.name for row in rows}
    known |= {row.symbol: row.name for row in rows if row.symbol and row.symbol not in known}
    for name in (bare for bare in (name.removeprefix("%") for name in names) if bare not in known):
        close = list_nearest(name, known, 3, 0.5) or list(known)[:3]
        message = f"there is no launch {name!r}; did you mean {' or '.join(close)}?" if close else f"no launch {name!r}"
        raise InspectError(message)
    return tuple(dict.fromkeys(known[name.removeprefix("%")] for name in names))


def show_seconds(seconds: float) -> str:
    """Return a time in few characters, three digits."""
    if not seconds:
        return "0"
    unit, least = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    number = seconds / least
    return f"{number:.0f} {unit}" if number >= _WHOLE else f"{number:.3g} {unit}"
