"""Descriptions of a CPU's or GPU's generated kernels: hardware use, instruction kinds, loops and vectors."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Launched, fit_symbol, model_launches, read_line, show_place
from xla_inspect.analysis.machine.mnemonics import Mix, count_instructions
from xla_inspect.analysis.machine.occupancy import Occupancy, find_occupancy, read_limits
from xla_inspect.analysis.machine.resources import Resources, read_resources
from xla_inspect.analysis.machine.shared_kernels import assign_kernels
from xla_inspect.analysis.machine.vector_loops import VectorLoop, count_vectors, list_defined, list_loops, measure_width
from xla_inspect.analysis.machine.vector_widths import VectorUse, count_widths
from xla_inspect.targets import find_entry, read_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis.machine.occupancy import Limits
    from xla_inspect.captured import Capture

MACHINE = ("sass", "asm")
"""The languages of machine code."""

REMARKS = "llvm_remarks"
"""The source of events in the log that contain remarks from LLVM."""


@dataclass(frozen=True)
class KernelListing:
    """The description of one kernel on a CPU or GPU with code that the compiler generated.

    Attributes:
        name: The name in the code.
        launches: The names of the instructions that run it; several instructions may share one kernel.
        where: The line of Python that it comes from, such as `model.py:12`, or an empty string if it is unknown. The
            code itself records no lines, so this is the line of the kernel's instruction.
        text: The text of that line.
        languages: The languages of its available code, such as `ptx`.
        block: The threads of a block on a GPU, or None.
        grid: The blocks of a launch on a GPU, or None.
        launch_shared: The bytes of shared memory that a launch requests in addition to those that the code declares,
            or None.
        resources: The resources of a GPU's kernel in the assembler's report; None without a report.
        occupancy: The occupancy of a GPU's multiprocessor; None without a report, a launch or a described device.
        mix: Its instructions by kind, or None without machine code.
        vectors: The use of vector registers by a CPU's instructions; None without assembly of a CPU.
        ir_vectors: The number of instructions with each vector type in a CPU kernel's optimized LLVM IR.
        loops: The loops of a CPU kernel in the optimized LLVM IR.
        remarks: LLVM's remarks about its loops and registers; empty if they were not requested.
    """

    name: str
    launches: tuple[str, ...]
    where: str
    text: str
    languages: tuple[str, ...]
    block: int | None
    grid: int | None
    launch_shared: int | None
    resources: Resources | None
    occupancy: Occupancy | None
    mix: Mix | None
    vectors: VectorUse | None
    ir_vectors: Mapping[str, int]
    loops: tuple[VectorLoop, ...]
    remarks: tuple[str, ...]

    @property
    def width(self) -> int:
        """The width of a CPU kernel's vectors in its LLVM IR, in bits, at most the widest register; 0 without vectors.

        Most instructions may use narrower registers, to collect elements that are not adjacent in memory.
        If the IR has no vectors, instructions use whole registers only to clear and copy memory, so the width is 0.
        """
        if "llvm" not in self.languages:
            return self.vectors.width if self.vectors else 0
        width = measure_width(self.ir_vectors)
        return min(width, self.vectors.widest) if self.vectors else width

    @property
    def shared(self) -> int:
        """Shared memory of a block on a GPU, in bytes: the size in the code plus the size that the launch requests."""
        return (self.resources.shared if self.resources else 0) + (self.launch_shared or 0)

    @property
    def innermost(self) -> tuple[VectorLoop, ...]:
        """The innermost loops, the ones that LLVM can vectorize."""
        return tuple(loop for loop in self.loops if loop.is_innermost)

    @property
    def weight(self) -> int:
        """The size by which kernels are compared: the number of instructions."""
        return self.mix.total if self.mix else 0


def describe_kernels(capture: Capture) -> tuple[KernelListing, ...]:
    """Return a description of each kernel's code in a capture, in launch order; code without a launch comes last.

    Args:
        capture: A capture for a CPU or a GPU; for details of an NVIDIA GPU's machine code, it has to contain SASS.
    """
    entry = find_entry(capture.target)
    kind = entry.kind
    pieces: dict[str, dict[str, str]] = {}
    for piece in capture.code:
        pieces.setdefault(fit_symbol(piece.kernel), {})[piece.language] = piece.text
    shared: dict[str, str] = {}
    if kind == "cpu" and capture.after:
        defined = {code.kernel: list_defined(code.text) for code in capture.code if code.language == "llvm"}
        shared = assign_kernels(capture.module, defined)
    rows: dict[str, list[Launched]] = {}
    for row in model_launches(capture) if capture.after else ():
        name, thunk = row.launch.name, row.launch.thunk
        symbol = thunk.symbol if thunk else ""
        rows.setdefault(fit_symbol(symbol or shared.get(name, name)), []).append(row)
    # The local device has no stored description, so its occupancy is unknown.
    limits = read_limits(read_spec(capture.target)) if kind == "gpu" and not entry.is_local else None
    remarks: dict[str, list[str]] = {}
    for event in capture.log:
        if event.source == REMARKS:
            # The function of a whole computation does not have the name of its module: the suffix is different.
            name = fit_symbol(event.module)
            kernel = name if name in pieces else f"{name.removesuffix('_kernel')}_computation"
            remarks.setdefault(kernel, []).append(event.text.partition(": ")[2])
    # Code that no launch runs comes last, so that no kernel is missing.
    order = [*(name for name in rows if name in pieces), *(name for name in pieces if name not in rows)]
    return tuple(
        _describe(capture, name, pieces[name], rows.get(name, ()), limits, tuple(remarks.get(name, ())))
        for name in order
    )


def list_registers(capture: Capture) -> dict[str, tuple[int, ...]]:
    """Return the resources in the machine code of a capture's kernels, as `describe_launches` accepts them."""
    return {
        code.kernel: (resources.registers, resources.spilled, resources.shared, resources.scalar)
        for code in capture.code
        if code.language in MACHINE and (resources := read_resources(code.text))
    }


def _describe(  # noqa: PLR0913, PLR0917 - a listing combines all of these
    capture: Capture,
    name: str,
    texts: Mapping[str, str],
    rows: Sequence[Launched],
    limits: Limits | None,
    remarks: tuple[str, ...],
) -> KernelListing:
    sass, assembly, llvm = (texts.get(language, "") for language in ("sass", "asm", "llvm"))
    # Above the assembly of a CPU there is no report, so it has no resources.
    resources = read_resources(sass or assembly)
    on_cpu = find_entry(capture.target).kind == "cpu"
    thunks = [row.launch.thunk for row in rows if row.launch.thunk]
    # Only thunks of kernels have threads, so they take precedence over the other thunks of a launch.
    first = next((thunk for thunk in thunks if thunk.threads), thunks[0] if thunks else None)
    line = next((row.lines[0] for row in rows if row.lines), None)
    block = _multiply(first.threads) if first else None
    grid = _multiply(first.grid) if first else None
    launch_shared = first.shared_memory if first else None
    occupancy = None
    if limits and resources and block:
        occupancy = find_occupancy(
            limits,
            threads=block,
            registers=resources.registers,
            shared=resources.shared + (launch_shared or 0),
            scalar=resources.scalar,
            barriers=resources.barriers,
            grid=grid or 0,
        )
    machine = next(((language, texts[language]) for language in MACHINE if language in texts), None)
    return KernelListing(
        name=name,
        launches=tuple(row.launch.name for row in rows),
        where=show_place(line) if line else "",
        text=read_line(capture, line) if line else "",
        languages=tuple(texts),
        block=block,
        grid=grid,
        launch_shared=launch_shared,
        resources=resources,
        occupancy=occupancy,
        mix=count_instructions(*machine) if machine else None,
        vectors=count_widths(assembly) if assembly and on_cpu else None,
        ir_vectors=count_vectors(llvm) if on_cpu else {},
        loops=list_loops(llvm) if on_cpu else (),
        remarks=remarks,
    )


def _multiply(sizes: tuple[int, int, int] | None) -> int | None:
    return sizes[0] * sizes[1] * sizes[2] if sizes else None
