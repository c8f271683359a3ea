"""What is measured of a compiled program: each number by its name, its unit, how it is found, and what tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import COLLECTIVE_KINDS, REDUCE_SCATTER, calls_host, list_kernels
from xla_inspect.errors import InspectError
from xla_inspect.questions.collectives import Exchange, find_exchanges
from xla_inspect.questions.memory import MemoryUse, explain_memory
from xla_inspect.questions.summary import TargetSummary, summarize
from xla_inspect.questions.why import Copy, list_copies
from xla_inspect.spelling import list_nearest, suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect.budgets.bound import Unit
    from xla_inspect.budgets.regression_causes import Causes
    from xla_inspect.captured import Capture


class Measured:
    """What is known of one capture, each found when it is first asked for.

    Args:
        capture: The capture.
        axes: Names and sizes of the mesh as the call has it; empty where it has none.
    """

    def __init__(self, capture: Capture, axes: Mapping[str, int]) -> None:
        """Measure nothing yet."""
        self.capture, self.axes = capture, dict(axes)

    @cached_property
    def summary(self) -> TargetSummary:
        """Its kernels, work and memory."""
        return summarize(self.capture.program, [self.capture], "").targets[0]

    @cached_property
    def memory(self) -> MemoryUse:
        """What takes its memory."""
        return explain_memory(self.capture, "")

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """What it only moves."""
        return list_copies(self.capture)

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What its devices send each other, and the axes that are known of the mesh."""
        found = find_exchanges(self.capture.program, self.capture, self.axes)
        self.axes = dict(found.mesh)
        return found.exchanges

    def choose_exchanges(self, kind: str, over: str) -> list[Exchange]:
        """Return the collectives of a kind and along an axis of the mesh; of all where one is empty.

        Args:
            kind: Such as `all-gather`; a `reduce-scatter` is one too where a TPU's compiler makes it of an all-reduce.
            over: The axis.

        Raises:
            InspectError: There is no such kind or axis.
        """
        if kind and kind not in COLLECTIVE_KINDS:
            message = f"there is no collective {kind!r}; {suggest_kind(kind)}"
            raise InspectError(message)
        chosen = [each for each in self.exchanges if not kind or _name_kind(each) == kind]
        if not over:
            return chosen
        if over not in self.axes:
            known = f"its axes are {', '.join(self.axes)}" if self.axes else "it has no mesh with named axes"
            message = f"{self.capture.program} has no axis {over!r}: {known}"
            raise InspectError(message)
        return [each for each in chosen if over in each.axes]


__tracebackhide__ = True


def _name_kind(exchange: Exchange) -> str:
    return exchange.kind.replace(REDUCE_SCATTER, "reduce-scatter")


def size_exchange(exchange: Exchange) -> int:
    """Return the bytes of what a collective makes on each device, or takes where that is more."""
    made = exchange.operand_bytes * exchange.group if exchange.kind == "all-gather" else exchange.operand_bytes
    return max(made, exchange.operand_bytes)


@dataclass(frozen=True, slots=True)
class Measure:
    """One number that is measured.

    Attributes:
        unit: What it counts.
        find: What finds it.
        tell: What yields where it comes from.
        part: Which part of a tally tells what changed since a record, or an empty string.
        title: What it is, for a table.
    """

    unit: Unit
    find: Callable[[Measured], float]
    tell: Callable[[Causes, Measured], Iterator[str]]
    part: str
    title: str


def _tell_memory(*roles: str) -> Callable[[Causes, Measured], Iterator[str]]:
    return lambda causes, _: causes.tell_memory(roles)


def _tell_kernels(causes: Causes, _: Measured) -> Iterator[str]:
    return causes.tell_kernels()


def _tell_copies(causes: Causes, measured: Measured) -> Iterator[str]:
    return causes.tell_copies(measured.copies)


def _tell_exchanges(causes: Causes, measured: Measured) -> Iterator[str]:
    return causes.tell_exchanges(measured.exchanges)


def _tell_constants(_: Causes, measured: Measured) -> Iterator[str]:
    for each in measured.capture.constants[:4]:
        sizes = ",".join(map(str, each.shape))
        yield f"    {each.dtype}[{sizes}], first used at {each.file.rpartition('/')[2]}:{each.line}"


def _tell_host(causes: Causes, measured: Measured) -> Iterator[str]:
    for each in [each for each in measured.capture.module.walk() if calls_host(each)][:4]:
        yield from causes.tell_finding(each.name)


def _count_host(measured: Measured) -> int:
    calls = [each for each in measured.capture.module.walk() if calls_host(each)]
    return len([each for each in calls if not each.opcode.endswith("-done")])


TRACES = "traces"
"""The number that is measured of several calls, and of no compiled program."""
MEASURES: Mapping[str, Measure] = {
    "peak": Measure(
        "bytes", lambda of: of.memory.needed_bytes, _tell_memory(), "memory", "memory of one device, the most at once"
    ),
    "arguments": Measure(
        "bytes", lambda of: of.summary.argument_bytes, _tell_memory("argument"), "memory", "what the arguments take"
    ),
    "temporaries": Measure(
        "bytes",
        lambda of: of.summary.temporary_bytes or 0,
        _tell_memory("temporary", "saved", "gap"),
        "memory",
        "what is set aside for values on the way",
    ),
    "results": Measure(
        "bytes",
        lambda of: of.summary.output_bytes,
        _tell_memory("result"),
        "memory",
        "what the results take that are in no argument's place",
    ),
    "kernels": Measure(
        "", lambda of: len(list_kernels(of.capture)), _tell_kernels, "kernels", "kernels, a loop's body once"
    ),
    "copies": Measure(
        "", lambda of: len(of.copies), _tell_copies, "", "copies and transposes with a launch of their own"
    ),
    "copied": Measure(
        "bytes",
        lambda of: sum(each.bytes * (each.runs or 1) for each in of.copies),
        _tell_copies,
        "",
        "what these move in a step, the trips of loops counted",
    ),
    "flops": Measure("flops", lambda of: of.summary.flops or 0, _tell_kernels, "kernels", "operations of a step"),
    "moved": Measure(
        "bytes",
        lambda of: of.summary.moved_bytes or 0,
        _tell_kernels,
        "kernels",
        "what kernels read and write in a step",
    ),
    "exchanged": Measure(
        "bytes",
        lambda of: sum(each.total_bytes for each in of.exchanges),
        _tell_exchanges,
        "collectives",
        "what each device brings to collectives in a step",
    ),
    "constants": Measure(
        "bytes",
        lambda of: sum(each.size for each in of.capture.constants),
        _tell_constants,
        "",
        "arrays that are a part of the program and no argument",
    ),
    "host_calls": Measure("", _count_host, _tell_host, "", "calls of Python on the host"),
}
"""The numbers that are measured, by name."""


def suggest_kind(kind: str) -> str:
    """Return which collective a misspelt kind comes close to, or which number or claim counts what it names."""
    if kind.removesuffix("-start") in {"copy", "copies", "transpose"}:
        return "copies and transposes are counted by `copies` and `copied`, and refused by `no_copies`"
    if not list_nearest(kind, COLLECTIVE_KINDS) and (near := list_nearest(kind, MEASURES, likeness=0.7)):
        return f"{near[0]} is a number of its own, as in `{near[0]} == 0`"
    return suggest_name(kind, COLLECTIVE_KINDS)
