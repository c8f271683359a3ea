"""The answer about the machine code of a capture's kernels: registers, spills, loops and instructions."""

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
        asked: The subject and options, as on the command line.
        target: The target's short name.
        kind: `cpu`, `gpu` or `tpu`.
        kernels: The kernels whose code the compiler generated, in launch order.
        below: On a TPU, its kernels below HLO in launch order, then the code around them; empty for other targets.
        without_code: Launches without their own code, such as library calls, each with its kind.
        shown: The number of kernels to show, from the first.
        is_full: Whether the answer shows every kernel, LLVM's remarks about it, and the steps below HLO.
        gap: The information that is unavailable on this machine and how to get it, or an empty string.
        error: The compiler's error message, or an empty string if it succeeded.
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
        """The kernels of a GPU that run out of registers and spill values to memory."""
        return tuple(kernel for kernel in self.kernels if kernel.resources and kernel.resources.spilled)

    @property
    def emptiest(self) -> KernelListing | None:
        """The kernel with the lowest occupancy of a GPU's multiprocessor, or None if no occupancy is known."""
        candidates = [kernel for kernel in self.kernels if kernel.occupancy]
        return min(candidates, key=lambda kernel: kernel.occupancy.share if kernel.occupancy else 1.0, default=None)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: a summary, tables of the kernels and their instructions, and unknown facts."""
        from xla_inspect.questions.code.rendering import render

        return render(self)


def explain_code(  # noqa: PLR0913 - the subject and the amount of detail
    capture: Capture,
    command_words: str = "",
    *,
    kernel: str = "",
    shown: int = USUAL_KERNELS,
    full: bool = False,
    gap: str = "",
) -> MachineCode:
    """Return the resources, loops and instructions of the machine code that a capture contains.

    Args:
        capture: The program's capture. It needs machine code for the kernels of a CPU or GPU.
        command_words: The subject and options, as on the command line.
        kernel: The only kernel whose code the capture contains, so that no launch counts as one without code; empty if
            the capture contains the code of all kernels.
        shown: The number of kernels to show.
        full: Whether to show every kernel, with LLVM's remarks and the steps below HLO.
        gap: The information that is unavailable on this machine and how to get it.
    """
    kind = find_entry(capture.target).kind
    # A TPU's code is bundles, which `describe_below` reads.
    kernels = () if kind == "tpu" else describe_kernels(capture)
    below = describe_below(capture)
    launches_with_code = {name for kernel in kernels for name in kernel.launches}
    # One kernel's code may serve several launches.
    launches_with_code |= {name for kernel in below for name in kernel.launches}
    return MachineCode(
        program=capture.program,
        asked=command_words,
        target=capture.target,
        kind=kind,
        kernels=kernels,
        below=below,
        # With the code of one chosen kernel, all other launches would seem to have none.
        without_code=() if kernel else _list_launches_without_code(capture, launches_with_code),
        shown=max(shown, len(kernels)) if full else shown,
        is_full=full,
        gap=gap,
        error=tell_failure(capture),
    )


def _list_launches_without_code(capture: Capture, with_code: Collection[str]) -> tuple[tuple[str, str], ...]:
    from xla_inspect.analysis import list_launches

    # A program that does not compile has no launches to list.
    if not capture.after:
        return ()
    return tuple((launch.name, launch.sort) for launch in list_launches(capture) if launch.name not in with_code)
