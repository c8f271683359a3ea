"""The recorded calls of a script that JAX had to trace or compile, by function, each compared with earlier ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Difference, find_nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis import Compilation, Signature


@dataclass(frozen=True)
class TracedCall:
    """One call that JAX had to trace, to lower or to compile.

    Attributes:
        where: The line of the call, as FILE:LINE.
        traces: The number of traces.
        compiles: The number of runs of the compiler.
        tracing_seconds: The time of tracing.
        lowering_seconds: The time of lowering.
        compiling_seconds: The time of compiling in XLA.
        nearest: The index of the most similar earlier call of the function, counted from zero; None for the first.
        differences: The differences from that call, the most important first.
    """

    where: str
    traces: int
    compiles: int
    tracing_seconds: float
    lowering_seconds: float
    compiling_seconds: float
    nearest: int | None
    differences: tuple[Difference, ...]

    @property
    def seconds(self) -> float:
        """The time of tracing, lowering and compiling, in seconds."""
        return self.tracing_seconds + self.lowering_seconds + self.compiling_seconds


@dataclass(frozen=True)
class TracedFunction:
    """A function that the script jits.

    Attributes:
        name: The name of the function.
        defined: The place of its definition, as FILE:LINE.
        calls: The calls that JAX had to trace, to lower or to compile, in order.
    """

    name: str
    defined: str
    calls: tuple[TracedCall, ...]

    @property
    def compiles(self) -> int:
        """The number of times that the compiler ran for it."""
        return sum(call.compiles for call in self.calls)

    @property
    def seconds(self) -> float:
        """The time of tracing, lowering and compiling for all of its calls, in seconds."""
        return sum(call.seconds for call in self.calls)


@dataclass(frozen=True)
class OwnOperations:
    """Operations of JAX that one line of the script runs outside of `jit`.

    Attributes:
        where: The line, as FILE:LINE.
        operations: The number of compilations by name of the operation.
        seconds: The time of tracing, lowering and compiling them.
    """

    where: str
    operations: Mapping[str, int]
    seconds: float


def read_calls(
    compilations: Sequence[Compilation],
) -> tuple[tuple[TracedFunction, ...], tuple[OwnOperations, ...]]:
    """Group recorded compilations: return a script's functions, and JAX's own operations by line, slowest first.

    Args:
        compilations: The traces and compilations, in order.
    """
    by_function: dict[tuple[str, str], list[Compilation]] = defaultdict(list)
    by_line: dict[str, list[Compilation]] = defaultdict(list)
    for compilation in compilations:
        # JAX's own operations have no definition in the script, so they are grouped by the line that runs them.
        if compilation.own:
            by_line[compilation.where].append(compilation)
        else:
            # Two functions may have the same name, so the place of the definition is part of the key.
            by_function[(compilation.function, compilation.defined)].append(compilation)
    functions = [TracedFunction(name, at, _compare(calls)) for (name, at), calls in by_function.items()]
    own = [
        OwnOperations(
            where,
            _count_compiles(calls),
            sum(call.seconds for call in calls),
        )
        for where, calls in by_line.items()
    ]
    return (
        # Without times, the number of calls decides the order.
        tuple(sorted(functions, key=lambda function: (-function.seconds, -len(function.calls)))),
        tuple(sorted((entry for entry in own if entry.operations), key=lambda operations: -operations.seconds)),
    )


def _count_compiles(calls: Sequence[Compilation]) -> dict[str, int]:
    counts = Counter[str]()
    for call in calls:
        counts[call.function] += call.compiles
    # The unary plus drops operations that were traced but not compiled.
    return dict(+counts)


def _compare(calls: Sequence[Compilation]) -> tuple[TracedCall, ...]:
    traced_calls: list[TracedCall] = []
    earlier: list[Signature] = []
    for call in calls:
        nearest: int | None = None
        differences: tuple[Difference, ...] = ()
        if traced_calls:
            nearest, differences = (
                find_nearest(earlier, call.signature)
                if call.signature and earlier
                # Without a signature to compare, a repeated call counts as one whose program JAX dropped.
                else (len(traced_calls) - 1, (Difference("dropped", "", "", ""),))
            )
        if call.signature:
            earlier.append(call.signature)
        traced_calls.append(
            TracedCall(
                call.where,
                call.traces,
                call.compiles,
                call.tracing_seconds,
                call.lowering_seconds,
                call.compiling_seconds,
                nearest,
                differences,
            )
        )
    return tuple(traced_calls)
