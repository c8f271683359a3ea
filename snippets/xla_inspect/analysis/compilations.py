"""Data classes for the recorded traces and compilations of a script by JAX, with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_inspect.analysis.signatures import Signature


@dataclass(frozen=True)
class Compilation:
    """One call of a jitted function that JAX had to trace, to lower or to compile.

    Attributes:
        function: The name of the function.
        defined: The place of its definition, as FILE:LINE.
        where: The line of the script that called it, as FILE:LINE.
        own: Whether it is an operation of JAX itself rather than a function of the script.
        signature: The arguments of the call; None for JAX's own operations.
        traces: The number of traces.
        compiles: The number of runs of the compiler.
        tracing_seconds: The time of tracing, in seconds.
        lowering_seconds: The time of lowering to StableHLO, in seconds.
        compiling_seconds: The time of compilation by XLA, in seconds.
    """

    function: str
    defined: str
    where: str
    own: bool
    signature: Signature | None
    traces: int
    compiles: int
    tracing_seconds: float
    lowering_seconds: float
    compiling_seconds: float

    @property
    def seconds(self) -> float:
        """The total time of the tracing and compilation, in seconds."""
        return self.tracing_seconds + self.lowering_seconds + self.compiling_seconds


@dataclass(frozen=True)
class ScriptRun:
    """One recorded run of a script, with the traces and compilations by JAX during it.

    Attributes:
        script: The file or module of the script, as the user wrote it.
        seconds: The running time of the script, in seconds.
        compilations: The traces and compilations by JAX, in order.
    """

    script: str
    seconds: float
    compilations: tuple[Compilation, ...]
