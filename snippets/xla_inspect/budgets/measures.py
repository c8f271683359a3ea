"""The numbers that can be measured of a compiled program, each with its name, unit, measurement and explanation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import COLLECTIVE_KINDS, REDUCE_SCATTER, calls_host, list_kernels
from xla_inspect.answers import show_range
from xla_inspect.errors import InspectError
from xla_inspect.questions.collectives import Exchange, find_exchanges
from xla_inspect.questions.memory import MemoryUse, explain_memory
from xla_inspect.questions.summary import TargetSummary, summarize
from xla_inspect.questions.time import TimeEstimate, estimate_time
from xla_inspect.questions.why import Copy, list_copies
from xla_inspect.spelling import list_nearest, suggest_name
from xla_inspect.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect.budgets.bound import Unit
    from xla_inspect.budgets.regression_causes import Causes
    from xla_inspect.captured import Capture


class Measured:
    """The measurements of one capture, each computed on first use.

    Args:
        capture: The capture.
        axes: The sizes of the mesh's axes by name; empty without a mesh.
    """

    def __init__(self, capture: Capture, axes: Mapping[str, int]) -> None:
        """Store the capture; the properties measure it."""
        self.capture, self.axes = capture, dict(axes)

    @cached_property
    def summary(self) -> TargetSummary:
        """The summary of the program: its kernels, work and memory."""
        return summarize(self.capture.program, [self.capture], "").targets[0]

    @cached_property
    def time(self) -> TimeEstimate:
        """The estimated time of the program; a CPU has none."""
        return estimate_time(self.capture)

    @cached_property
    def memory(self) -> MemoryUse:
        """The memory use of the program."""
        return explain_memory(self.capture, "")

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """The launches that only copy or transpose data."""
        return list_copies(self.capture)

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The collectives of the program; computing them also completes the axes of the mesh."""
        # A program without a mesh in its call may still have named axes, which only this search recovers.
        answer = find_exchanges(self.capture.program, self.capture, self.axes)
        self.axes = dict(answer.mesh)
        return answer.exchanges

    def choose_exchanges(self, kind: str, over: str) -> list[Exchange]:
        """Return the collectives of a kind and along an axis of the mesh; an empty string selects all.

        Args:
            kind: A kind such as `all-gather`. A `reduce-scatter` may also be one that a TPU's compiler builds from an
                all-reduce.
            over: The axis.

        Raises:
            InspectError: There is no such kind or axis.
        """
        if kind and kind not in COLLECTIVE_KINDS:
            message = f"there is no collective {kind!r}; {suggest_kind(kind)}"
            raise InspectError(message)
        # This must precede the check of the axis, because computing the exchanges completes `self.axes`.
        chosen = [exchange for exchange in self.exchanges if not kind or _name_kind(exchange) == kind]
        if not over:
            return chosen
        if over not in self.axes:
            axes_text = f"its axes are {', '.join(self.axes)}" if self.axes else "it has no mesh with named axes"
            message = f"{self.capture.program} has no axis {over!r}: {axes_text}"
            raise InspectError(message)
        return [exchange for exchange in chosen if over in exchange.axes]


__tracebackhide__ = True


def _name_kind(exchange: Exchange) -> str:
    return exchange.kind.replace(REDUCE_SCATTER, "reduce-scatter")


def size_exchange(exchange: Exchange) -> int:
    """Return the larger of a collective's result and its operand on each device, in bytes."""
    # An all-gather's result contains the operands of every device of the group, so it is larger than the operand.
    result_bytes = exchange.operand_bytes * exchange.group if exchange.kind == "all-gather" else exchange.operand_bytes
    return max(result_bytes, exchange.operand_bytes)


@dataclass(frozen=True, slots=True)
class Measure:
    """The definition of one measured number.

    Attributes:
        unit: The unit of the number.
        find: A function that returns the number from the measurements of a capture, or None if the target has none.
        tell: A function that yields lines that explain the number.
        part: The part of a tally that shows changes since a record, or an empty string.
        title: The description of the number in a table.
        show_range: A function that returns the range of an estimate or the calls that a number lacks, or None.
        is_least: A function that returns whether a part of the number is not known, or None if it always is known.
    """

    unit: Unit
    find: Callable[[Measured], float | None]
    tell: Callable[[Causes, Measured], Iterator[str]]
    part: str
    title: str
    show_range: Callable[[Measured], str] | None = None
    is_least: Callable[[Measured], bool] | None = None


def _tell_memory(*roles: str) -> Callable[[Causes, Measured], Iterator[str]]:
    return lambda causes, _: causes.tell_memory(roles)


def _tell_kernels(causes: Causes, _: Measured) -> Iterator[str]:
    return causes.tell_kernels()


def _tell_copies(causes: Causes, measured: Measured) -> Iterator[str]:
    return causes.tell_copies(measured.copies)


def _tell_constants(_: Causes, measured: Measured) -> Iterator[str]:
    for constant in measured.capture.constants[:4]:
        sizes = ",".join(map(str, constant.shape))
        yield f"    {constant.dtype}[{sizes}], first used at {constant.file.rpartition('/')[2]}:{constant.line}"


def _tell_host(causes: Causes, measured: Measured) -> Iterator[str]:
    for instruction in [instruction for instruction in measured.capture.module.walk() if calls_host(instruction)][:4]:
        yield from causes.tell_finding(instruction.name)


def _tell_time(_: Causes, measured: Measured) -> Iterator[str]:
    for line in measured.time.lines[:4]:
        yield f"    {format_seconds(line.seconds)}  {line.where or 'no line known'}  {line.kind}, bound by {line.limit}"
    yield "    an estimate, not a measurement: its likely value counts, and its range is in parentheses"
    yield from (f"    {note}" for note in measured.time.notes)


def _count_host(measured: Measured) -> int:
    calls = [instruction for instruction in measured.capture.module.walk() if calls_host(instruction)]
    # An asynchronous call is printed as two instructions, a start and a done, but it is one call.
    return len([instruction for instruction in calls if not instruction.opcode.endswith("-done")])


TRACES = "traces"
"""The name of the number that is measured for several calls rather than for a compiled program."""
MEASURES: Mapping[str, Measure] = {
    "peak": Measure("bytes", lambda of: of.memory.needed_bytes, _tell_memory(), "memory", "peak memory of one device"),
    "arguments": Measure(
        "bytes", lambda of: of.summary.argument_bytes, _tell_memory("argument"), "memory", "memory of the arguments"
    ),
    "temporaries": Measure(
        "bytes",
        lambda of: of.summary.temporary_bytes or 0,
        _tell_memory("temporary", "saved", "gap"),
        "memory",
        "memory of intermediate values",
    ),
    "results": Measure(
        "bytes",
        lambda of: of.summary.output_bytes,
        _tell_memory("result"),
        "memory",
        "memory of the results that do not reuse an argument's memory",
    ),
    "kernels": Measure(
        "",
        lambda of: len(list_kernels(of.capture)),
        _tell_kernels,
        "kernels",
        "kernels, counting the body of a loop once",
    ),
    "copies": Measure("", lambda of: len(of.copies), _tell_copies, "", "separately launched copies and transposes"),
    "copied": Measure(
        "bytes",
        # A copy in a loop with an unknown number of iterations runs at least once.
        lambda of: sum(copy.bytes * copy.assumed_runs for copy in of.copies),
        _tell_copies,
        "",
        "bytes that these copies move in a step, counting every iteration of a loop",
    ),
    "flops": Measure(
        "flops",
        lambda of: of.summary.flops or 0,
        _tell_kernels,
        "kernels",
        "operations of a step, without those of library calls that are not known",
        lambda of: " and ".join(f"without {name}" for name in of.summary.unknown_work),
        lambda of: bool(of.summary.unknown_work),
    ),
    "time": Measure(
        "seconds",
        lambda of: of.time.seconds,
        _tell_time,
        "",
        "estimated time of a step; a bound applies to the likely value, and a CPU has no estimate",
        lambda of: show_range(of.time.time),
        lambda of: of.time.is_least,
    ),
    "moved": Measure(
        "bytes",
        lambda of: of.summary.moved_bytes or 0,
        _tell_kernels,
        "kernels",
        "bytes that kernels read and write in a step",
    ),
    "exchanged": Measure(
        "bytes",
        lambda of: sum(exchange.total_bytes for exchange in of.exchanges),
        lambda causes, of: causes.tell_exchanges(of.exchanges),
        "collectives",
        "operand bytes of each device's collectives in a step",
    ),
    "constants": Measure(
        "bytes",
        lambda of: sum(constant.size for constant in of.capture.constants),
        _tell_constants,
        "",
        "arrays that are constants of the program, not arguments",
    ),
    "host_calls": Measure("", _count_host, _tell_host, "", "calls from the program to Python on the host"),
}
"""The definitions of the numbers of a compiled program, by name."""


def suggest_kind(kind: str) -> str:
    """Return a hint for an unknown collective: a similar kind, the number or claim that counts it, or all kinds."""
    if kind.removesuffix("-start") in {"copy", "copies", "transpose"}:
        return "`copies` and `copied` count copies and transposes, and `no_copies` forbids them"
    if not list_nearest(kind, COLLECTIVE_KINDS) and (near := list_nearest(kind, MEASURES, likeness=0.7)):
        return f"{near[0]} is a number of its own, as in `{near[0]} == 0`"
    return suggest_name(kind, COLLECTIVE_KINDS)
