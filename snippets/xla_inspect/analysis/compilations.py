"""What a script let JAX trace and compile, as plain data."""

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
        defined: Where it is defined, as FILE:LINE.
        where: The line of the script's that called it, as FILE:LINE.
        own: Whether it is an operation of JAX that runs by itself, and none of the script's functions.
        signature: What it was called with; None of JAX's own.
        traces: How many times it was traced.
        compiles: How many times the compiler ran.
        tracing_seconds: How long it was traced.
        lowering_seconds: How long it was lowered to StableHLO.
        compiling_seconds: How long XLA compiled.
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
        """How long all of it took."""
        return self.tracing_seconds + self.lowering_seconds + self.compiling_seconds


@dataclass(frozen=True)
class ScriptRun:
    """A script that ran.

    Attributes:
        script: Its file or module, as it was named.
        seconds: How long it ran.
        compilations: What it let JAX trace and compile, in order.
    """

    script: str
    seconds: float
    compilations: tuple[Compilation, ...]
