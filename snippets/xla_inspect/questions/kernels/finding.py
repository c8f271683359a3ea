"""The answer about the launches of a capture: the line, the work, the estimated and the least time of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import STATEMENT, Stage, find_stage, tell_failure
from xla_inspect.analysis.estimates import Estimate, time_program
from xla_inspect.analysis.machine import list_registers
from xla_inspect.answers import Answer, LineTotal, explain_times, sum_lines, sum_scopes
from xla_inspect.errors import InspectError
from xla_inspect.questions.kernels.launch_rows import LaunchRow, describe_launches
from xla_inspect.questions.kernels.row_limit import USUAL_ROWS
from xla_inspect.spelling import list_nearest
from xla_inspect.targets import explain_absence, explain_missing_gpu, explain_tiles, find_hardware

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


_LONGEST = 600


@dataclass(frozen=True)
class Kernels(Answer):
    """The launches of a program, the longest first by an estimate of its time.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The target's short name, with its grid.
        launches: All launches, sorted by the estimated time of all their runs, or by the bytes they move without one.
        lines: The totals by line of Python: the estimated time of all runs in seconds, or bytes without an estimate.
        scopes: The totals by scope (`text`) of the line with at least half of the amount, such as the call of a
            library's model. Launches without a line count as one line. Empty if no line has that share, or if it has
            only one scope.
        shown: The number of launches to show, from the first.
        named: The launches that were requested by name and are shown in detail.
        time: The estimated time of the program in seconds, or None without an estimate.
        times: The limits of the estimates, or an empty string without them.
        least_seconds: The least time of all launches one after the other, each with its known number of runs; None if
            no peak rates of the target are published.
        unknown_runs: The number of launches with an unknown number of runs.
        model: The limits of the model of the least time, or the reason why the target has none.
        without_gpu: Sentences about decisions that XLA takes without the GPU, or an empty string.
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
    time: Estimate | None
    times: str
    least_seconds: float | None
    unknown_runs: int
    model: str
    without_gpu: str
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
    registers: Mapping[str, tuple[int, ...]] | str = "",
) -> Kernels:
    """Return the launches in a capture, the longest first by an estimate of its time (not a measurement).

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
    step = time_program(capture)
    known = {**list_registers(capture), **({} if isinstance(registers, str) else registers)}
    rows = describe_launches(capture, known, step.by_name if step else {}) if capture.after else ()
    # A program that does not compile has no launches, which is not an error in the names.
    requested = find_names(rows, names) if rows else ()
    hardware = find_hardware(capture.target)
    return Kernels(
        program=capture.program,
        asked=command_words,
        target=capture.target,
        launches=tuple(sorted(rows, key=lambda row: row.weight, reverse=True)),
        # Without peak rates there are no estimates, so the bytes are added up instead.
        lines=sum_lines((row.where, row.text, row.weight[not step]) for row in rows),
        scopes=sum_scopes([(row.where, row.scope.rpartition("/")[0], row.weight[not step]) for row in rows]),
        shown=shown,
        named=requested,
        time=step.seconds if step else None,
        times=explain_times({capture.target: step}),
        least_seconds=sum((row.least_seconds or 0.0) * row.assumed_runs for row in rows) if hardware else None,
        unknown_runs=sum(row.runs is None for row in rows),
        model=f"{STATEMENT} {hardware.gap}".strip() if hardware else explain_absence(capture.target),
        without_gpu=_explain_decisions(capture),
        registers_gap=registers if isinstance(registers, str) else "",
        error=tell_failure(capture),
        stage=find_stage(capture),
    )


def _explain_decisions(capture: Capture) -> str:
    sentences = explain_missing_gpu(capture.options, capture.after)
    # Only Triton's fusions of nested matmuls have tiles whose origin has to be explained.
    tiles = explain_tiles(capture.options) if "__triton_nested_gemm_fusion" in capture.after else ""
    return f"The tiles of matmuls are {tiles}. {sentences}".rstrip() if tiles else sentences


def answer_dump(capture: Capture, command_words: str) -> Kernels:
    """Return the launches of a module of a dump, all of which are shown."""
    # The length of the text is an upper bound of the number of launches.
    return rank_launches(capture, command_words, shown=len(capture.after))


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
