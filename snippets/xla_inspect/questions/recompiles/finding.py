"""The functions that a script compiles, and why each is compiled again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer
from xla_inspect.questions.recompiles.traced_calls import OwnOperations, TracedFunction, read_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import Compilation, ScriptRun
    from xla_inspect.answers import Part


@dataclass(frozen=True)
class Recompiles(Answer):
    """The functions that a script let JAX trace and compile.

    Attributes:
        script: The script, as it was named.
        script_seconds: How long it ran, on this machine; 0 where times are left out.
        functions: What it jits, what took longest first.
        own: Operations of JAX that it runs one by one, by line, what took longest first.
        at_most: How many compiles of a function are allowed, or None.
    """

    script: str
    script_seconds: float
    functions: tuple[TracedFunction, ...]
    own: tuple[OwnOperations, ...]
    at_most: int | None

    @property
    def holds(self) -> bool:
        """True if no function is compiled more often than is allowed."""
        return self.at_most is None or all(function.compiles <= self.at_most for function in self.functions)

    @property
    def own_compiles(self) -> int:
        """The number of compiles of JAX's own operations."""
        return sum(sum(each.operations.values()) for each in self.own)

    @property
    def is_timed(self) -> bool:
        """True if it holds times."""
        return self.script_seconds > 0

    @property
    def seconds(self) -> float:
        """The time of all tracing, lowering and compiling, in seconds."""
        return sum(each.seconds for each in self.functions) + sum(each.seconds for each in self.own)

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the functions, what made each compile again, and what would save it."""
        from xla_inspect.questions.recompiles.rendering import render

        return render(self)


def explain_recompiles(run: ScriptRun, at_most: int | None = None, *, is_timed: bool = True) -> Recompiles:
    """Return what a script let JAX trace and compile, and why again.

    Args:
        run: The script, which ran.
        at_most: How many compiles of a function are allowed, or None.
        is_timed: Whether it says how long things took.
    """
    if not is_timed:
        run = replace(run, seconds=0.0, compilations=tuple(map(_forget_times, run.compilations)))
    functions, own = read_calls(run.compilations)
    return Recompiles(run.script, run.seconds, functions, own, at_most)


def _forget_times(compilation: Compilation) -> Compilation:
    return replace(compilation, tracing_seconds=0.0, lowering_seconds=0.0, compiling_seconds=0.0)
