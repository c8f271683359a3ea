"""The answer about recompilations: the functions that a script compiles, and the cause of each recompilation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer
from xla_inspect.questions.recompiles.traced_calls import OwnOperations, TracedFunction, read_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis import ScriptRun
    from xla_inspect.answers import Part


@dataclass(frozen=True)
class Recompiles(Answer):
    """The functions that JAX traces and compiles for a script.

    Attributes:
        script: The script, as on the command line.
        script_seconds: The run time of the script on this machine; 0 if times are omitted.
        functions: The functions that it jits, the slowest to compile first.
        own: Operations of JAX that it runs outside of `jit`, by line, the slowest to compile first.
        at_most: The number of compilations allowed for a function, or None.
    """

    script: str
    script_seconds: float
    functions: tuple[TracedFunction, ...]
    own: tuple[OwnOperations, ...]
    at_most: int | None

    @property
    def holds(self) -> bool:
        """True if no function is compiled more often than `at_most` allows."""
        return self.at_most is None or all(function.compiles <= self.at_most for function in self.functions)

    @property
    def own_compiles(self) -> int:
        """The number of compilations of JAX's own operations."""
        return sum(sum(item.operations.values()) for item in self.own)

    @property
    def is_timed(self) -> bool:
        """True if the answer contains times."""
        return self.script_seconds > 0

    @property
    def seconds(self) -> float:
        """The time of all tracing, lowering and compiling, in seconds."""
        return sum(item.seconds for item in self.functions) + sum(item.seconds for item in self.own)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, tables of functions and causes of recompilations, and remedies."""
        from xla_inspect.questions.recompiles.rendering import render

        return render(self)


def explain_recompiles(run: ScriptRun, at_most: int | None = None, *, is_timed: bool = True) -> Recompiles:
    """Return the functions that JAX traced and compiled in a recorded run of a script, and the causes of repeats."""
    if not is_timed:
        # Times differ between runs, so they are removed before they determine the order of the functions.
        compilations = [
            replace(compilation, tracing_seconds=0.0, lowering_seconds=0.0, compiling_seconds=0.0)
            for compilation in run.compilations
        ]
        run = replace(run, seconds=0.0, compilations=tuple(compilations))
    functions, own = read_calls(run.compilations)
    return Recompiles(run.script, run.seconds, functions, own, at_most)
