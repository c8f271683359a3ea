"""The printed answer about the machine code of kernels: paragraphs and tables."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.questions.code.below_code import drop_empty, say_below, shorten_place, tell_below
from xla_inspect.targets import find_terms, title
from xla_inspect.units import format_bytes, format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xla_inspect.analysis.machine import KernelListing
    from xla_inspect.answers import Part
    from xla_inspect.questions.code.finding import MachineCode


_NAME, _KINDS, _REMARK = 21, 48, 140
_CPU = ("kernel", "line", "bits", "of code", "loops", "vectorized", "spills")
_LEAST_WAVES = 0.1
_SHORT = {"registers": "regs", "shared memory": "shared"}
"""The short forms of a maker's words, for the columns of a table."""
# Remarks from the most useful to the least: vectorized, not worth vectorizing, an obstacle to vectors, unrolled.
_REMARKS_BY_USE = tuple(
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
    """Yield the printed answer: a summary, tables of the kernels and their instructions, and unknown facts."""
    if code.error:
        yield f"{code.program} does not compile for {title(code.target)}: {shorten(code.error, 500)}"
        return
    yield f"{code.program} on {title(code.target)}: {_say(code)}"
    if code.below:
        yield from tell_below(code.below, code.shown, is_full=code.is_full)
        yield from filter(None, [code.gap])
    # A TPU has only the kernels below HLO, which are already printed.
    if not code.kernels:
        return
    kernels = code.kernels[: code.shown]
    if code.kind == "cpu":
        yield from _tell_cpu(kernels, is_full=code.is_full)
    else:
        terms = find_terms(code.target)
        registers, shared = (_SHORT.get(word, word) for word in (terms.registers, terms.shared))
        columns = ("kernel", "line", registers, "spills", shared, "full", terms.fills, "limit")
        yield drop_empty(Table(columns, tuple(map(_list_gpu, kernels)), (2, 3, 4, 5, 6)))
    if mixes := tuple(_list_mix(kernel) for kernel in kernels if kernel.mix):
        yield Table(("kernel", "instructions", "most common kinds"), mixes, (1,))
    if omitted := len(code.kernels) - len(kernels):
        yield f"{plural(omitted, 'kernel')} not shown; --json shows all of them."
    yield from _tell_rest(code)


def _say(code: MachineCode) -> str:
    if code.below:
        return say_below(code.below)
    if not code.kernels:
        return f"no kernel has its own code. {_say_without(code)}." if code.without_code else "no code."
    count = plural(len(code.kernels), "kernel")
    if code.kind == "cpu":
        widths = Counter(kernel.width for kernel in code.kernels)
        inner = [loop for kernel in code.kernels for loop in kernel.innermost]
        width = ", ".join(
            f"{plural(number, 'kernel uses', 'kernels use')} {f'{bits}-bit' if bits else 'no'} vectors"
            for bits, number in sorted(widths.items(), reverse=True)
        )
        if len(code.kernels) == 1:
            bits = code.kernels[0].width
            width = f"{count} with {bits}-bit vectors" if bits else f"{count} without vectors"
        else:
            width = f"{count}. {width}"
        vectorized = sum(loop.is_vectorized for loop in inner)
        return f"{width}; {vectorized} of {plural(len(inner), 'innermost loop')} vectorized."
    emptiest, terms = code.emptiest, find_terms(code.target)
    # The occupancy depends on the registers, which are unknown unless the code was assembled.
    if emptiest is None or emptiest.occupancy is None:
        return f"{count}. The {terms.registers} and {terms.shared} that they use are not known here."
    spills = plural(len(code.spilling), "kernel spills", "kernels spill") if code.spilling else "No kernel spills"
    # If the lowest occupancy is complete, all of them are.
    if emptiest.occupancy.share >= 1:
        subject = "Each" if len(code.kernels) > 1 else "It"
        return f"{count}. {subject} can fill a {terms.core} with {terms.wave}s. {spills} registers."
    where = f" ({emptiest.where})" if emptiest.where else ""
    return (
        f"{count}. The lowest occupancy is {format_share(emptiest.occupancy.share)}, in {emptiest.name}{where}, "
        f"limited by {' and '.join(emptiest.occupancy.bound_by)}. {spills} registers."
    )


def _say_without(code: MachineCode) -> str:
    counts = Counter(kind for _, kind in code.without_code)
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
    return f"Launches without their own code, which a library or the runtime performs: {kinds}"


def _tell_rest(code: MachineCode) -> Iterator[Part]:
    unknown: Counter[str] = Counter()
    for kernel in code.kernels:
        unknown.update(kernel.mix.unknown if kernel.mix else {})
    if unknown:
        # New hardware may bring instructions that no table of this package has.
        names = ", ".join(f"{name} {number}" for name, number in unknown.most_common(8))
        yield f"Instructions that this version of xla-inspect does not classify: {names}."
    if code.without_code and code.kernels:
        yield f"{_say_without(code)}."
    if code.gap:
        yield code.gap
    if code.kind == "gpu" and code.emptiest:
        terms = find_terms(code.target)
        yield (
            f"full: theoretical occupancy, the kernel's {terms.wave}s that fit on a {terms.core} as a share of its "
            f"maximum. limit: the resource that limits the occupancy. {terms.fills}: the number of times that the GPU "
            "is filled to run all blocks; below 1, a part of the GPU is idle. line: the line of the HLO instruction, "
            "since the machine code has no line numbers."
        )
        yield from filter(None, [terms.note])
    if len(code.kernels) > 1:
        most = max(code.kernels, key=lambda kernel: kernel.weight)
        options = ("--stage", "code", "--kernel", most.name)
        yield Hint("To see the code of one kernel:", suggest("show", code.asked, *options))


def _tell_cpu(kernels: Collection[KernelListing], *, is_full: bool) -> Iterator[Part]:
    yield Table(_CPU, tuple(map(_list_cpu, kernels)), (2, 3, 4, 5, 6))
    if is_full:
        remarks = tuple((shorten(kernel.name, _NAME), remark) for kernel in kernels for remark in kernel.remarks)
        if remarks:
            yield Table(("kernel", "LLVM's remarks"), remarks)
        return
    rows = tuple(
        (shorten(kernel.name, _NAME), shorten(remark, _REMARK))
        for kernel in kernels
        if (remark := _pick_remark(kernel))
    )
    if rows:
        yield Table(("kernel", "LLVM's most useful remark"), rows)


def _pick_remark(kernel: KernelListing) -> str:
    """Return LLVM's most useful remark about a kernel's vectors, preferably that it made some, or an empty string."""
    for pattern in _REMARKS_BY_USE:
        if remark := next((remark for remark in kernel.remarks if pattern.match(remark)), ""):
            return remark
    return ""


def _list_gpu(kernel: KernelListing) -> tuple[str, ...]:
    resources, occupancy = kernel.resources, kernel.occupancy
    return (
        shorten(kernel.name, _NAME),
        shorten_place(kernel.where),
        f"{resources.registers}" if resources else "?",
        format_bytes(resources.spilled) if resources and resources.spilled else ("-" if resources else "?"),
        format_bytes(kernel.shared) if kernel.shared else "-",
        format_share(occupancy.share) if occupancy else "?",
        _show_waves(occupancy.waves) if occupancy and occupancy.grid else "?",
        _SHORT.get(occupancy.bound_by[0], occupancy.bound_by[0]) if occupancy else "",
    )


def _show_waves(waves: float) -> str:
    return f"{waves:.1f}" if waves >= _LEAST_WAVES else f"<{_LEAST_WAVES}"


def _list_cpu(kernel: KernelListing) -> tuple[str, ...]:
    vectors, inner = kernel.vectors, kernel.innermost
    return (
        shorten(kernel.name, _NAME),
        shorten_place(kernel.where),
        f"{kernel.width}" if kernel.width else "-",
        format_share(vectors.vectors / vectors.instructions) if vectors and vectors.instructions else "?",
        f"{len(kernel.loops)}",
        f"{sum(loop.is_vectorized for loop in inner)} of {len(inner)}" if inner else "-",
        _say_spills(kernel),
    )


def _say_spills(kernel: KernelListing) -> str:
    """Return the number of spills in LLVM's first remark about spills, "-" if it has none, "?" without any remarks."""
    for remark in kernel.remarks:
        if match := _SPILLS.match(remark):
            return match["spills"]
    return "-" if kernel.remarks else "?"


def _list_mix(kernel: KernelListing) -> tuple[str, str, str]:
    mix = kernel.mix
    if mix is None:
        return kernel.name, "", ""
    text = ""
    # The kinds come in order of their counts, so the ones that do not fit in the column are the rarest.
    for kind, number in mix.counts.items():
        longer = f"{text}{', ' if text else ''}{kind} {format_share(number / mix.total)}"
        if len(longer) > _KINDS:
            break
        text = longer
    return shorten(kernel.name, _NAME), f"{mix.total:,}", text
