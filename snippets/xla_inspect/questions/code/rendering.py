"""The machine code of kernels in paragraphs and tables."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.questions.code.below_code import drop_empty, say_below, shorten_place, tell_below
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xla_inspect.analysis.machine import KernelListing
    from xla_inspect.answers import Part
    from xla_inspect.questions.code.finding import MachineCode


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


def render(code: MachineCode) -> Iterator[Part]:
    """Yield the sentence, the kernels, their instructions, and what is not known."""
    if code.error:
        yield f"{code.program} does not compile for {title(code.target)}: {shorten(code.error, 500)}"
        return
    yield f"{code.program} on {title(code.target)}: {_say(code)}"
    if code.below:
        yield from tell_below(code.below, code.shown, is_full=code.is_full)
        yield from filter(None, [code.gap])
    if not code.kernels:
        return
    shown = code.kernels[: code.shown]
    if code.kind == "cpu":
        yield from _tell_cpu(shown, is_full=code.is_full)
    else:
        yield drop_empty(Table(_GPU, tuple(map(_list_gpu, shown)), (2, 3, 4, 5, 6)))
    if mixes := tuple(_list_mix(kernel) for kernel in shown if kernel.mix):
        yield Table(("kernel", "code", "most of its instructions"), mixes, (1,))
    if left := len(code.kernels) - len(shown):
        yield f"Left out: {plural(left, 'kernel')}; --json has all."
    yield from _tell_rest(code)


def _say(code: MachineCode) -> str:
    if code.below:
        return say_below(code.below)
    if not code.kernels:
        return f"no kernel has code of its own; {_say_without(code)}." if code.without_code else "no code."
    counted = plural(len(code.kernels), "kernel")
    if code.kind == "cpu":
        widths = Counter(kernel.width for kernel in code.kernels)
        inner = [loop for kernel in code.kernels for loop in kernel.innermost]
        width = ", ".join(
            f"{number} on vectors of {bits} bits" if bits else f"{number} without vectors"
            for bits, number in sorted(widths.items(), reverse=True)
        )
        vectorized = sum(loop.is_vectorized for loop in inner)
        return f"{counted}: {width}; {vectorized} of {plural(len(inner), 'innermost loop')} vectorized."
    emptiest = code.emptiest
    if emptiest is None or emptiest.occupancy is None:
        return f"{counted}; what they take of the hardware is not known here."
    spilling = code.spilling
    spills = "nothing spills"
    if spilling:
        spills = f"{plural(len(spilling), 'kernel spills', 'kernels spill')} registers"
    if emptiest.occupancy.share >= 1:
        each = "each" if len(code.kernels) > 1 else "it"
        return f"{counted}; {each} can fill a multiprocessor with warps; {spills}."
    where = f" ({emptiest.where})" if emptiest.where else ""
    return (
        f"{counted}; {emptiest.name}{where} can fill a multiprocessor least, "
        f"{format_share(emptiest.occupancy.share)}, bound by {' and '.join(emptiest.occupancy.bound_by)}; {spills}."
    )


def _say_without(code: MachineCode) -> str:
    counted = Counter(kind for _, kind in code.without_code)
    listed = ", ".join(f"{number} {kind}" for kind, number in counted.most_common())
    return f"without code of their own, as a library or the runtime does them: {listed}"


def _tell_rest(code: MachineCode) -> Iterator[Part]:
    unknown: Counter[str] = Counter()
    for kernel in code.kernels:
        unknown.update(kernel.mix.unknown if kernel.mix else {})
    if unknown:
        listed = ", ".join(f"{name} {number}" for name, number in unknown.most_common(8))
        yield f"Instructions of a kind that is not known here: {listed}."
    if code.without_code and code.kernels:
        text = _say_without(code)
        yield f"{text[0].upper()}{text[1:]}."
    if code.gap:
        yield code.gap
    if code.kind == "gpu" and code.emptiest:
        yield (
            "full: warps that a multiprocessor can hold of the kernel, as a share of those that it has room for "
            "(theoretical occupancy), and by what it holds no more. waves: how often the GPU is filled to run all "
            "blocks; below 1 a part of it idles. The code carries no lines: line is that of the instruction."
        )
    if len(code.kernels) > 1:
        most = max(code.kernels, key=lambda kernel: kernel.weight)
        options = ("--stage", "code", "--kernel", most.name)
        yield Hint("One kernel alone:", suggest("show", code.asked, *options))


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
