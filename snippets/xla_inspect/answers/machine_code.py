"""What the machine code of a program's kernels takes and does: registers and occupancy, vectors and loops, bundles."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import tell_failure
from xla_inspect.analysis.bundles import BelowListing, describe_below
from xla_inspect.analysis.machine import KernelListing, describe_kernels
from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Hint, Table, suggest
from xla_inspect.answers.below_code import drop_empty, say_below, shorten_place, tell_below
from xla_inspect.plural import plural
from xla_inspect.targets import find_entry, title
from xla_inspect.units import format_bytes, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xla_inspect.answers.answer_parts import Part
    from xla_inspect.captured import Capture

USUAL_KERNELS = 12
"""How many kernels are shown where nobody says how many."""

_NAME, _KINDS, _REMARK = 21, 48, 140
_GPU = ("kernel", "line", "regs", "spills", "shared", "full", "waves", "by")
_CPU = ("kernel", "line", "bits", "of code", "loops", "vectorized", "spills")
_LEAST_WAVES = 0.1
_SHORT = {"registers": "regs", "shared memory": "shared"}
# Remarks from the most telling to the least: that LLVM made vectors, that they would not pay, what stands in their way.
_TELLING = tuple(
    re.compile(pattern)
    for pattern in (
        r"vectorized (?:outer )?loop|.*SLP vectorized|Vectoriz(?:ed|ing) horizontal reduction",
        r"the cost-model indicates that vectorization|loop not vectorized: .*(?:beneficial|trip count)",
        r"loop not vectorized: ",
        r"(?:completely )?unrolled",
    )
)
_SPILLS = re.compile(r"(?P<spills>\d+) spills .*generated in function")


@dataclass(frozen=True)
class MachineCode(Answer):
    """What the machine code of a program's kernels takes and does.

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
    def holds(self) -> bool:
        """Whether the compiler made a program of it."""
        return not self.error

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
        if self.error:
            yield f"{self.program} does not compile for {title(self.target)}: {shorten(self.error, 500)}"
            return
        yield f"{self.program} on {title(self.target)}: {self._say()}"
        if self.below:
            yield from tell_below(self.below, self.shown, is_full=self.is_full)
            yield from filter(None, [self.gap])
        if not self.kernels:
            return
        shown = self.kernels[: self.shown]
        if self.kind == "cpu":
            yield from _tell_cpu(shown, is_full=self.is_full)
        else:
            yield drop_empty(Table(_GPU, tuple(map(_list_gpu, shown)), (2, 3, 4, 5, 6)))
        if mixes := tuple(_list_mix(kernel) for kernel in shown if kernel.mix):
            yield Table(("kernel", "code", "most of its instructions"), mixes, (1,))
        if left := len(self.kernels) - len(shown):
            yield f"Left out: {plural(left, 'kernel')}; --json has all."
        yield from self._tell_rest()

    def _say(self) -> str:
        if self.below:
            return say_below(self.below)
        if not self.kernels:
            return f"no kernel has code of its own; {self._say_without()}." if self.without_code else "no code."
        counted = plural(len(self.kernels), "kernel")
        if self.kind == "cpu":
            widths = Counter(kernel.width for kernel in self.kernels)
            inner = [loop for kernel in self.kernels for loop in kernel.innermost]
            width = ", ".join(
                f"{number} on vectors of {bits} bits" if bits else f"{number} without vectors"
                for bits, number in sorted(widths.items(), reverse=True)
            )
            vectorized = sum(loop.is_vectorized for loop in inner)
            return f"{counted}: {width}; {vectorized} of {plural(len(inner), 'innermost loop')} vectorized."
        emptiest = self.emptiest
        if emptiest is None or emptiest.occupancy is None:
            return f"{counted}; what they take of the hardware is not known here."
        spilling = self.spilling
        spills = "nothing spills"
        if spilling:
            spills = f"{plural(len(spilling), 'kernel spills', 'kernels spill')} registers"
        if emptiest.occupancy.share >= 1:
            each = "each" if len(self.kernels) > 1 else "it"
            return f"{counted}; {each} can fill a multiprocessor with warps; {spills}."
        where = f" ({emptiest.where})" if emptiest.where else ""
        return (
            f"{counted}; {emptiest.name}{where} can fill a multiprocessor least, "
            f"{format_share(emptiest.occupancy.share)}, bound by {' and '.join(emptiest.occupancy.bound_by)}; {spills}."
        )

    def _say_without(self) -> str:
        counted = Counter(kind for _, kind in self.without_code)
        listed = ", ".join(f"{number} {kind}" for kind, number in counted.most_common())
        return f"without code of their own, as a library or the runtime does them: {listed}"

    def _tell_rest(self) -> Iterator[Part]:
        unknown: Counter[str] = Counter()
        for kernel in self.kernels:
            unknown.update(kernel.mix.unknown if kernel.mix else {})
        if unknown:
            listed = ", ".join(f"{name} {number}" for name, number in unknown.most_common(8))
            yield f"Instructions of a kind that is not known here: {listed}."
        if self.without_code and self.kernels:
            text = self._say_without()
            yield f"{text[0].upper()}{text[1:]}."
        if self.gap:
            yield self.gap
        if self.kind == "gpu" and self.emptiest:
            yield (
                "full: warps that a multiprocessor can hold of the kernel, as a share of those that it has room for "
                "(theoretical occupancy), and by what it holds no more. waves: how often the GPU is filled to run all "
                "blocks; below 1 a part of it idles. The code carries no lines: line is that of the instruction."
            )
        if len(self.kernels) > 1:
            most = max(self.kernels, key=lambda kernel: kernel.weight)
            options = ("--stage", "code", "--kernel", most.name)
            yield Hint("One kernel alone:", suggest("show", self.asked, *options))


def _tell_cpu(kernels: Collection[KernelListing], *, is_full: bool) -> Iterator[Part]:
    yield Table(_CPU, tuple(map(_list_cpu, kernels)), (2, 3, 4, 5, 6))
    if is_full:
        said = tuple((shorten(kernel.name, _NAME), remark) for kernel in kernels for remark in kernel.remarks)
        if said:
            yield Table(("kernel", "LLVM's own words"), said)
        return
    rows = tuple(
        (shorten(kernel.name, _NAME), shorten(words, _REMARK)) for kernel in kernels if (words := _pick_words(kernel))
    )
    if rows:
        yield Table(("kernel", "LLVM's own words, those that tell most"), rows)


def _pick_words(kernel: KernelListing) -> str:
    """Return what LLVM says of a kernel's vectors that tells most: that it made some, else why not."""
    for telling in _TELLING:
        if found := next((remark for remark in kernel.remarks if telling.match(remark)), ""):
            return found
    return ""


def _list_gpu(kernel: KernelListing) -> tuple[str, ...]:
    taken, occupancy = kernel.resources, kernel.occupancy
    return (
        shorten(kernel.name, _NAME),
        shorten_place(kernel.where),
        f"{taken.registers}" if taken else "?",
        format_bytes(taken.spilled) if taken and taken.spilled else ("-" if taken else "?"),
        format_bytes(kernel.shared) if kernel.shared else "-",
        format_share(occupancy.share) if occupancy else "?",
        _show_waves(occupancy.waves) if occupancy and occupancy.grid else "?",
        _SHORT.get(occupancy.bound_by[0], occupancy.bound_by[0]) if occupancy else "",
    )


def _show_waves(waves: float) -> str:
    return f"{waves:.1f}" if waves >= _LEAST_WAVES else f"<{_LEAST_WAVES}"


def _list_cpu(kernel: KernelListing) -> tuple[str, ...]:
    used, inner = kernel.vectors, kernel.innermost
    return (
        shorten(kernel.name, _NAME),
        shorten_place(kernel.where),
        f"{kernel.width}" if kernel.width else "-",
        format_share(used.vectors / used.instructions) if used and used.instructions else "?",
        f"{len(kernel.loops)}",
        f"{sum(loop.is_vectorized for loop in inner)} of {len(inner)}" if inner else "-",
        _say_spills(kernel),
    )


def _say_spills(kernel: KernelListing) -> str:
    """Return what LLVM says that a kernel spills, or a dash where it says nothing of the kind."""
    for remark in kernel.remarks:
        if found := _SPILLS.match(remark):
            return found["spills"]
    return "-" if kernel.remarks else "?"


def _list_mix(kernel: KernelListing) -> tuple[str, str, str]:
    mix = kernel.mix
    if mix is None:
        return kernel.name, "", ""
    told = ""
    for kind, number in mix.counts.items():
        longer = f"{told}{', ' if told else ''}{kind} {format_share(number / mix.total)}"
        if len(longer) > _KINDS:
            break
        told = longer
    return shorten(kernel.name, _NAME), f"{mix.total:,}", told


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
