"""The machine code of kernels: registers, spills, loops and the work of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import tell_failure
from xla_inspect.analysis.bundles import BelowListing, describe_below
from xla_inspect.analysis.machine import KernelListing, describe_kernels
from xla_inspect.answers import Answer
from xla_inspect.targets import find_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xla_inspect.answers import Part
    from xla_inspect.captured import Capture


USUAL_KERNELS = 12
"""The number of kernels that are shown by default."""


@dataclass(frozen=True)
class MachineCode(Answer):
    """The machine code of a program's kernels.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        target: The target's short name.
        kind: `cpu`, `gpu` or `tpu`.
        kernels: The kernels whose code the compiler generated, in the order in which they are launched.
        below: Of a TPU, its kernels below HLO in that order, then what is around them; empty elsewhere.
        without_code: Launches that have no code of their own, such as calls of libraries, and what they are.
        shown: How many kernels are told, from the first.
        is_full: Whether all is told: each kernel, what LLVM says of it, and the steps below HLO.
        gap: What could not be had here and what to do about it, or an empty string.
        error: What the compiler said where it gave up, or an empty string.
    """

    program: str
    asked: str
    target: str
    kind: str
    kernels: tuple[KernelListing, ...]
    below: tuple[BelowListing, ...]
    without_code: tuple[tuple[str, str], ...]
    shown: int
    is_full: bool
    gap: str
    error: str

    @property
    def spilling(self) -> tuple[KernelListing, ...]:
        """The kernels of a GPU that keep values in memory for want of registers."""
        return tuple(kernel for kernel in self.kernels if kernel.resources and kernel.resources.spilled)

    @property
    def emptiest(self) -> KernelListing | None:
        """The kernel of a GPU that can hold the fewest warps on a multiprocessor."""
        known = [kernel for kernel in self.kernels if kernel.occupancy]
        return min(known, key=lambda kernel: kernel.occupancy.share if kernel.occupancy else 1.0, default=None)

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the kernels, their instructions, and what is not known."""
        from xla_inspect.questions.code.rendering import render

        return render(self)


def explain_code(  # noqa: PLR0913 - what is asked, and how much of it is told
    capture: Capture,
    asked: str = "",
    *,
    kernel: str = "",
    shown: int = USUAL_KERNELS,
    full: bool = False,
    gap: str = "",
) -> MachineCode:
    """Return what the machine code of a program takes and does on one target.

    Args:
        capture: Its capture, with machine code where that is wanted.
        asked: What was asked about, as on the command line.
        kernel: The one kernel that the capture's code was cut down to, or an empty string for all.
        shown: How many kernels to tell.
        full: Whether to tell all of them, with what LLVM says and the steps below HLO.
        gap: What could not be had and what to do about it.
    """
    kind = find_entry(capture.target).kind
    kernels = () if kind == "tpu" else describe_kernels(capture)
    below = describe_below(capture)
    known = {name for each in kernels for name in each.launches} | {name for each in below for name in each.launches}
    return MachineCode(
        program=capture.program,
        asked=asked,
        target=capture.target,
        kind=kind,
        kernels=kernels,
        below=below,
        without_code=() if kernel else _list_others(capture, known),
        shown=max(shown, len(kernels)) if full else shown,
        is_full=full,
        gap=gap,
        error=tell_failure(capture),
    )


def _list_others(capture: Capture, known: Collection[str]) -> tuple[tuple[str, str], ...]:
    from xla_inspect.analysis import list_launches

    if not capture.after:
        return ()
    return tuple((launch.name, launch.sort) for launch in list_launches(capture) if launch.name not in known)
