"""The parts of a capture: runs of passes, memory, times, thunks and code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect import hlo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.hlo import Module

# A line of a dumped module that holds an instruction.
INSTRUCTION = re.compile(r"^ +(?:ROOT )?%", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PassRun:
    """One run of one pass, in the order in which the compiler ran them."""

    pipeline: str
    name: str
    changed: bool


@dataclass(frozen=True)
class PassChange:
    """A pass that changed the module, and the module after it.

    Attributes:
        pipeline: The pipeline that ran the pass, such as `simplification`.
        name: The pass, such as `algsimp`.
        text: The whole module after the pass, as the compiler dumped it, without the stack-frame tables.
    """

    pipeline: str
    name: str
    text: str

    @cached_property
    def module(self) -> Module:
        """The parsed module after the pass."""
        return hlo.parse_module(self.text)

    @property
    def instruction_count(self) -> int:
        """The number of instructions in the module, counted by lines, without parsing."""
        return len(INSTRUCTION.findall(self.text))


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that the executable needs, per device (`CompiledMemoryStats` of the executable)."""

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    generated_code: int
    peak: int


PASSES, REST = "HLO passes", "not recorded"
"""Phases of a compile that each compiler has, see `Times`."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that a compile took, on the machine and at the load that it met.

    Attributes:
        tracing: Python run with tracers, once for all targets.
        lowering: The jaxpr turned into StableHLO, once for all targets of a kind.
        compiling: All that the compiler did, its passes and the generation of code.
        passes: Each of `Capture.runs` in the same order, without what ran inside it that is a run of its own.
        phases: What `compiling` consists of, in the order in which it begins, as far as the compiler tells: `PASSES`,
            what comes after it, and `REST`, which nothing is recorded of. They sum to `compiling`.
    """

    tracing: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0
    passes: tuple[float, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Equations:
    """The number of jaxpr equations in one part of the program, including those of inner jaxprs.

    Attributes:
        scope: The name stack that they are under, as `Encoder/dropout`, with JAX's own marks such as `jvp(...)`.
        function: The Python function that they are of.
        number: The number of equations.
    """

    scope: str
    function: str
    number: int


@dataclass(frozen=True, slots=True)
class Constant:
    """An array that the program closes over, so that it is a part of the program and not an argument.

    Attributes:
        dtype: Its element type, such as `float32`.
        shape: Its dimensions.
        size: Bytes.
        file: The file with the line that first uses it, or an empty string.
        line: That line, or 0.
    """

    dtype: str
    shape: tuple[int, ...]
    size: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Work that the optimized module does, counted by a cost model and not measured.

    Attributes:
        flops: Floating-point operations.
        bytes_accessed: Bytes read and written.
        transcendentals: Calls of exp, tanh and the like.
        source: The origin of the numbers: `executable` or `jaxlib HLO cost analysis`.
        details: Every property that the source gave, by its own name.
    """

    flops: float
    bytes_accessed: float
    transcendentals: float
    source: str
    details: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Thunk:
    """One step of a GPU's executable, a line of the thunk sequence.

    Attributes:
        name: The instruction that it runs, or its kind where it names none.
        kind: Its kind, such as `kCustomKernel`.
        grid: Blocks in x, y and z, of a kernel.
        threads: Threads per block in x, y and z, of a kernel.
        shared_memory: Bytes of shared memory per block, of a kernel.
        symbol: What the kernel is called in the code, and so in a profile: the name of the instruction for which it was
            made, which is another one where two instructions share a kernel. Empty of what is no kernel.
    """

    name: str
    kind: str
    grid: tuple[int, int, int] | None = None
    threads: tuple[int, int, int] | None = None
    shared_memory: int | None = None
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of generated code.

    Attributes:
        kernel: The kernel it belongs to, or the file's own short name.
        language: `llvm`, `llvm-unoptimized`, `asm`, `triton`, `ptx`, `sass` or `hlo` (a TPU's scheduled module).
        text: The code.
    """

    kernel: str
    language: str
    text: str
