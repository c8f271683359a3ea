"""Out-of-memory errors of compilers: the memory, its size and limit, the place in the program, and the remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xla_inspect.analysis.instruction_lines import find_lines, read_line, show_place
from xla_inspect.units import format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

HBM = "HBM"
"""The main memory of an accelerator, as a `Refusal` names it."""
VMEM, SHARED = "VMEM", "shared memory"

SPACES: Mapping[str, str] = {
    "hbm": HBM,
    "vmem": VMEM,
    "smem": "SMEM",
    "sflag": "semaphore memory",
    "cmem": "CMEM",
    "shared": SHARED,
    "shared data": SHARED,
    "local data": "local memory",
    "constant data": "constant memory",
    "here": "the memory of this machine",
}
"""The usual names of memories, by the compilers' names."""

_SHARES = "take smaller blocks, or fewer stages (num_stages, max_concurrent_steps): each stage holds its own blocks"
REMEDIES: Mapping[str, str] = {
    HBM: "donate arguments, recompute with jax.checkpoint, take a smaller batch, or spread the program over devices",
    VMEM: "take smaller blocks, or hold each once, with pl.BlockSpec(..., pipeline_mode=pl.Buffered(1)): in a grid "
    "Pallas holds each twice",
    "SMEM": "leave only scalars there: give arrays to the kernel in pltpu.VMEM or pl.ANY, or prefetch fewer scalars",
    "semaphore memory": "take fewer semaphores, and use each again once it was waited for",
    SHARED: _SHARES,
    "local memory": "take smaller blocks or more warps (num_warps): what a thread has no registers for lies there",
    SPACES["here"]: "give the shape in place of the array, as in jax.ShapeDtypeStruct: only shapes are compiled",
}
"""The remedy for each memory, by its usual name."""

_OPTION = "xla_tpu_scoped_vmem_limit_kib"
_RAISE = "{remedy}; or raise the limit, with compiler_params=pltpu.CompilerParams(vmem_limit_bytes={bytes})"
_RAISE_OWN = "raise the limit of the compiler's own kernels: --xla {option}={kib}"
_PALLAS = "tpu_custom_call"

_SIZE = r"([0-9.]+ ?[KMGT]?)i?B?"
# The most detailed forms come first, because the last one matches any error that names a memory space.
_FORMS = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        rf"in memory space (?P<space>\w+).{{0,4000}}?Scoped allocation with size {_SIZE} and limit {_SIZE}",
        rf"in memory space (?P<space>\w+).{{0,4000}}?Used {_SIZE} of {_SIZE}",
        rf"Ran out of memory on (?P<space>\w+).{{0,400}}?\({_SIZE}\) exceeds available \w+ \({_SIZE}\)",
        r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\) :: .*?space=(?P<space>\w+)",
        r"(?P<space>[Ss]hared) memory size limit exceeded: requested (\d+), available: (\d+)",
        r"exceeds available (?P<space>shared) memory: smem_bytes=(\d+) > max_smem_bytes=(\d+)",
        r"(\d+) bytes of (?P<space>shared) memory, which exceeds the device limit of (\d+)",
        r"uses too much (?P<space>\w+ data) \((?:bank \d+, )?(0x\w+) bytes(?: \+ 0x\w+ bytes system)?, (0x\w+) max\)",
        r"in memory space (?P<space>\w+)()()",
    )
)
_HERE = re.compile(r"Out of memory (?:allocating|while trying to allocate) (\d+) bytes")
_SPENT = re.compile(r"RESOURCE_EXHAUSTED|[Oo]ut of memory|[Rr]an out of \w* ?memory")
_NAMES = (
    r"on stack for %?([\w.$-]+) =",
    r"XLA label: %?([\w.$-]+) =",
    r"\] :: %?([\w.$-]+)",
    r"Entry function '([^']+)'",
)
_TAG = re.compile(r"(?:tag = '|Tag: )([^'\n]+)")
_SCALES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_TRITON = re.compile(r"triton", re.IGNORECASE)


@dataclass(frozen=True)
class Refusal:
    """A compilation that failed because a memory is too small.

    Attributes:
        space: The memory, such as HBM, VMEM, SMEM or shared memory; empty if the error does not name it.
        needed_bytes: The bytes that the compiler needs, or None if the error does not say.
        limit_bytes: The available bytes, or None if the error does not say.
        is_capacity: Whether the limit is the capacity of the hardware rather than a limit that the kernel can raise.
        instruction: The instruction or kernel that needs the memory, or an empty string.
        place: The line of Python of the instruction as `file:line`, or an empty string.
        text: The text of that line, or an empty string.
        buffer: The compiler's name of the largest buffer, or an empty string.
        quote: The compiler's own sentence.
        remedy: The remedy, or an empty string.
    """

    space: str
    needed_bytes: int | None
    limit_bytes: int | None
    is_capacity: bool
    instruction: str
    place: str
    text: str
    buffer: str
    quote: str
    remedy: str

    @property
    def sentence(self) -> str:
        """Words about the memory, its sizes and the place, to follow the words "does not compile"."""
        if not self.space:
            return f"over a limit of the compiler: {shorten(self.quote, 300)}"
        text = f"out of {self.space}"
        if self.needed_bytes is None:
            text += f" ({shorten(self.quote, 300)})"
        elif self.limit_bytes is None:
            text += f" ({format_bytes(self.needed_bytes)} needed)"
        else:
            there = format_bytes(self.limit_bytes)
            text += f" ({format_bytes(self.needed_bytes)} needed, "
            text += f"{there} available)" if self.is_capacity else f"the limit is {there})"
        return f"{text}{self.instruction and f' in {self.instruction}'}{self.place and f' at {self.place}'}"

    @property
    def vmem_options(self) -> dict[str, int]:
        """The XLA option that raises the TPU's VMEM limit to the needed size, with its value in KiB; else empty."""
        size = self.needed_bytes if self.space == VMEM and not self.is_capacity else None
        return {_OPTION: 4096 * -(-size // (4 << 20))} if size else {}


def read_refusal(error: str) -> Refusal | None:
    """Return the contents of an out-of-memory error's text, or None for another error."""
    if here := _HERE.search(error):
        return _describe("here", here[1], "", error)
    for form in _FORMS:
        if match := form.search(error):
            # The group of the memory is before or after the sizes, so it is excluded by its position.
            start, end = match.span("space")
            size, limit = (match[at] for at in range(1, 4) if match.span(at) != (start, end))
            return _describe(error[start:end], size, limit, error)
    return _describe("", "", "", error) if _SPENT.search(error) else None


def _describe(space: str, size: str, limit: str, error: str) -> Refusal:
    names = next((match[1] for form in _NAMES if (match := re.search(form, error))), "")
    tag = _TAG.search(error)
    name = SPACES.get(space.lower(), f"the memory space {space!r}" if space else "")
    return Refusal(
        space=name,
        needed_bytes=_read_size(size),
        limit_bytes=_read_size(limit),
        is_capacity="Scoped allocation" not in error,
        instruction=names,
        place="",
        text="",
        buffer=tag[1].partition(" The u8 ")[0] if tag else "",
        quote=_quote(error),
        remedy=REMEDIES.get(name, ""),
    )


def _read_size(text: str) -> int | None:
    """Parse a size in bytes as compilers write it: `48.00M`, `0xc000`, `33554432`; None without a number."""
    if text.startswith("0x"):
        return int(text, 16)
    number = text.strip().rstrip("KMGT ")
    return round(float(number) * _SCALES.get(text.strip()[-1], 1)) if number else None


def _quote(error: str) -> str:
    """Return the first line of an error that contains more than a code, or else its first line; empty without text."""
    lines = [line for line in map(str.strip, error.split("\n")) if line]
    # The first line may have only the code of the error.
    return next((line for line in lines if not line.endswith("Oom:")), lines[0] if lines else "")


def find_refusal(capture: Capture) -> Refusal | None:
    """Return the out-of-memory error of a capture's compilation, with its line of Python, or None."""
    refusal = read_refusal(capture.error) if capture.error else None
    # Main memory runs out for the whole program, so no single instruction is to blame.
    if refusal is None or not capture.after or refusal.space == HBM:
        return refusal
    instruction = _find_instruction(capture, refusal)
    if instruction is None:
        return refusal
    line = find_lines(capture, capture.module).get(instruction)
    refusal = replace(
        refusal,
        instruction=instruction.name,
        place=show_place(line) if line else "",
        text=read_line(capture, line) if line else "",
    )
    for option, kib in refusal.vmem_options.items():
        form = _RAISE if instruction.custom_call_target == _PALLAS else _RAISE_OWN
        remedy = form.format(remedy=refusal.remedy, option=option, kib=kib, bytes=kib << 10)
        refusal = replace(refusal, remedy=remedy)
    return refusal


def _find_instruction(capture: Capture, refusal: Refusal) -> Instruction | None:
    """Return the instruction that an error mentions, or the only instruction that can be the cause, or None."""
    instructions = list(capture.module.walk())
    if refusal.instruction:
        # Symbols in errors have `_` in place of the dots of an instruction's name.
        names = (refusal.instruction, refusal.instruction.replace("_", "."))
        return next((instruction for instruction in instructions if instruction.name in names), None)
    if refusal.space != SHARED:
        return None
    kernels = [
        instruction
        for instruction in instructions
        if _TRITON.search(f"{instruction.custom_call_target} {instruction.backend_config}")
    ]
    # If there are several Triton kernels, the error does not show which one it means.
    return kernels[0] if len(kernels) == 1 else None


def name_failure(capture: Capture) -> str:
    """Return the reason why a program did not compile, or an empty string if it compiled."""
    refusal = find_refusal(capture)
    return refusal.sentence if refusal else capture.error.partition("\n")[0]


def tell_failure(capture: Capture) -> str:
    """Return the reason why a program did not compile, with a remedy; an empty string if it compiled."""
    refusal = find_refusal(capture)
    if refusal is None or not refusal.remedy:
        return name_failure(capture)
    return f"{refusal.sentence}. What helps: {refusal.remedy}"
