"""The parts of a capture: passes, memory, times, equations, constants, cost, thunks and code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect import hlo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.hlo import Module

# The start of a line with an instruction in a dumped module.
INSTRUCTION = re.compile(r"^ +(?:ROOT )?%", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PassRun:
    """One run of a pass: the pipeline that ran it, the pass's name, and whether it changed the module."""

    pipeline: str
    name: str
    changed: bool


@dataclass(frozen=True)
class PassChange:
    """A pass that changed the module, and the module after it.

    Attributes:
        pipeline: The pipeline that ran the pass, such as `simplification`.
        name: The name of the pass, such as `algsimp`.
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
        # Parsing the module after every pass is slow, and each line has at most one instruction.
        return len(INSTRUCTION.findall(self.text))


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes that the executable needs on each device by purpose, and at the peak (from `CompiledMemoryStats`)."""

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    generated_code: int
    peak: int


PASSES, REST = "HLO passes", "not recorded"
"""The names of phases that the compilation for every target has, see `Times`."""


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds of a compilation, which depend on the machine and its load.

    Attributes:
        tracing: The time of tracing the Python function, once for all targets.
        lowering: The time of lowering the jaxpr to StableHLO, once for all targets of a kind.
        compiling: The time of the compiler, including its passes and code generation.
        passes: The time of each of `Capture.runs`, in the same order, without that of nested runs.
        phases: The times of the phases of `compiling`, in order: `PASSES`, the later phases that the compiler reports,
            and `REST`, which is not recorded. They add up to `compiling`.
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
        scope: The name stack of the equations, such as `Encoder/dropout`, with JAX's own marks such as `jvp(...)`.
        function: The Python function that the equations come from.
        number: The number of equations.
    """

    scope: str
    function: str
    number: int


@dataclass(frozen=True, slots=True)
class Constant:
    """An array that the program closes over, which makes it a part of the program and not an argument.

    Attributes:
        dtype: Its element type, such as `float32`.
        shape: Its dimensions.
        size: Bytes.
        file: The file of the first use, or an empty string.
        line: The line of the first use, or 0.
    """

    dtype: str
    shape: tuple[int, ...]
    size: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of the optimized module, counted by a cost model and not measured.

    Attributes:
        flops: Floating-point operations.
        bytes_accessed: Bytes read and written.
        transcendentals: Evaluations of exp, tanh and similar functions.
        source: The origin of the numbers: `executable` or `jaxlib HLO cost analysis`.
        details: All properties from the source, by their original names.
    """

    flops: float
    bytes_accessed: float
    transcendentals: float
    source: str
    details: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Thunk:
    """One step of a GPU's executable, which is one line of the thunk sequence.

    Attributes:
        name: The instruction that it runs, or its kind if it has no instruction.
        kind: The kind, such as `kCustomKernel`.
        grid: For a kernel, the blocks in x, y and z.
        threads: For a kernel, the threads of a block in x, y and z.
        shared_memory: For a kernel, the bytes of shared memory of a block.
        symbol: For a kernel, its name in the code and in profiles, otherwise empty. It is the name of the instruction
            for which the kernel was generated, even if another instruction with the same kernel runs it.
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
        kernel: The kernel that it belongs to, or the short name of its file.
        language: `llvm`, `llvm-unoptimized`, `asm` (of a CPU or an AMD GPU), `triton`, `ptx`, `sass` or `hlo` (a TPU's
            scheduled module).
        text: The code.
    """

    kernel: str
    language: str
    text: str
