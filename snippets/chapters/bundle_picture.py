"""A TPU's kernels below HLO as pictures and tables: which units are busy, the longest chain, and the steps."""

from __future__ import annotations

import html
from itertools import groupby
from typing import TYPE_CHECKING

from chapters.code_anatomy import annotate_code
from chapters.gallery_matrix import number_matrix
from xla_inspect.analysis.bundles import UNITS, find_step, list_units, read_below
from xla_inspect.plural import plural
from xla_inspect.report import figure, markdown, svg, title, write_bundles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.bundles import Bundle, BundledKernel, Chain
    from xla_inspect.captured import Capture, Captures

# CSS pixels: the column of a phone, the room for a unit's name and for its share, a row and the bar in it.
WIDTH, LEFT, RIGHT, LINE, BAR, GAP = 352, 98, 36, 20, 16, 4
COLUMNS = 72
"""The parts of a kernel that a row shows at most."""

UNKNOWN = "unknown"

BEFORE = "pre-"
"""What the name of a form that is no step of its own starts with."""


def draw_utilization(kernel: BundledKernel) -> str:
    """Return how busy each unit of a TPU's core is over a kernel's bundles, as HTML; units that rest are left out.

    Args:
        kernel: The kernel, or the program around the kernels.
    """
    utilization = kernel.utilization
    busy = [unit for unit in UNITS if utilization.shares.get(unit)]
    drawn = []
    for row, unit in enumerate(busy):
        share, y = utilization.shares[unit], row * (LINE + GAP)
        name, does = UNITS[unit]
        tooltip = f"{name}: {share:.0%} of its slots are taken, by {does}"
        steps = _draw_steps(utilization.follow(unit, COLUMNS), y)
        drawn.append(
            f'<g class="tpu"><title>{html.escape(tooltip)}</title>'
            f'<text x="0" y="{y + BAR - 4}">{html.escape(name)}</text>'
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y + BAR}" y2="{y + BAR}"/>{steps}'
            f'<text x="{WIDTH - RIGHT + 5}" y="{y + BAR - 4}">{share:.0%}</text></g>'
        )
    shares = ", ".join(f"{UNITS[unit][0]} {utilization.shares[unit]:.0%}" for unit in busy)
    what = f"Slots taken of each unit over the {plural(kernel.size, 'bundle')} of {kernel.name}"
    height = max(len(busy) * (LINE + GAP) - GAP, 1)
    picture = svg("".join(drawn), f"{what}: {shares or 'none'}", (WIDTH, height))
    note = "from its first bundle on the left to its last; the share is that of all bundles"
    return figure("bars", picture, f"{html.escape(what)}, {note}.")


def _draw_steps(shares: tuple[float, ...], top: float) -> str:
    """Return rectangles from the axis up, as high as the shares; neighbours of one height are one."""
    width = (WIDTH - LEFT - RIGHT) / max(len(shares), 1)
    drawn, at = [], 0
    for height, run in groupby(round(BAR * share, 1) for share in shares):
        count = len(list(run))
        if height:
            x, y = LEFT + at * width, top + BAR - height
            drawn.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{count * width:.1f}" height="{height:.1f}"/>')
        at += count
    return "".join(drawn)


def draw_critical_path(kernel: BundledKernel) -> str:
    """Return a kernel's longest chain of operations over the compiler's cycles, a row for each kind, as HTML.

    Args:
        kernel: The kernel; one without a chain gives an empty string.
    """
    chain = kernel.critical_path
    if chain is None or not chain.cycles:
        return ""
    spans = _join_steps(chain)
    rows = list(dict.fromkeys(name for name, *_ in spans))
    scale = (WIDTH - LEFT) / chain.cycles
    drawn = [
        f'<text x="0" y="{row * (LINE + GAP) + BAR - 4}">{html.escape(name)}</text>' for row, name in enumerate(rows)
    ]
    for name, start, cycles, count in spans:
        y, x = rows.index(name) * (LINE + GAP), LEFT + start * scale
        tooltip = f"{name}: {plural(count, 'operation')}, {plural(cycles, 'cycle')} from cycle {start:,} on"
        drawn.append(
            f'<g class="tpu"><title>{html.escape(tooltip)}</title>'
            f'<rect x="{x:.1f}" y="{y + 2}" width="{max(cycles * scale, 1):.1f}" height="{BAR - 4}"/></g>'
        )
    bottom = len(rows) * (LINE + GAP)
    drawn.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH}" y1="{bottom}" y2="{bottom}"/>')
    drawn.append(f'<text class="soft" x="{LEFT}" y="{bottom + 12}">0</text>')
    end = plural(chain.cycles, "cycle")
    drawn.append(f'<text class="soft" x="{WIDTH}" y="{bottom + 12}" text-anchor="end">{end}</text>')
    what = f"The longest chain of operations in {kernel.name}, each of which waits for the one before"
    told = ", ".join(f"{name} {cycles:,}" for name, _, cycles, _ in spans)
    picture = svg("".join(drawn), f"{what}: {end}. {told}", (WIDTH, bottom + 16))
    return figure("bars", picture, f"{html.escape(what)}: {end}, as the compiler reckons.")


def _join_steps(chain: Chain) -> list[tuple[str, int, int, int]]:
    """Return runs of operations of one kind: the unit's title, the cycle they begin at, how long, and how many."""
    titles = {key: unit.title for key, unit in list_units().items()}
    kinds = [(titles[step.mnemonic.unit.key] if step.mnemonic else UNKNOWN, step) for step in chain.steps]
    spans, start = [], 0
    for name, run in groupby(kinds, key=lambda kind: kind[0]):
        steps = [step for _, step in run]
        cycles = sum(step.cycles for step in steps)
        spans.append((name, start, cycles, len(steps)))
        start += cycles
    return spans


def show_bundles(kernel: BundledKernel, command: str, *, allowed: bool) -> str:
    """Return a kernel's bundles as libtpu prints them, folded; where that is not allowed, how to see them.

    Args:
        kernel: The kernel.
        command: What prints them on the reader's own machine.
        allowed: Whether the site may show them (`inside_xla.publication.may_show_bundles`).
    """
    what = f"{plural(kernel.size, 'bundle')} of {kernel.name}"
    if allowed:
        return markdown.fold(f"The {what}", markdown.fence(write_bundles(kernel), "text"))
    return f"`{command}` prints the {markdown.escape(what)} on your own machine.\n"


def show_bundle(kernel: BundledKernel, bundle: Bundle, *, allowed: bool) -> str:
    """Return a bundle in its parts as HTML; where its text is not allowed, a row for each of its operations in words.

    Args:
        kernel: The kernel.
        bundle: One of its bundles.
        allowed: As in `show_bundles`.
    """
    if allowed:
        return annotate_code("bundle", kernel.low.bundles[bundle.start : bundle.end])
    rows = [
        (
            number,
            slot.mnemonic.unit.title if slot.mnemonic else UNKNOWN,
            slot.mnemonic.sentence if slot.mnemonic else "",
            "" if slot.number is None else slot.number,
        )
        for number, slot in enumerate(bundle.slots, start=1)
    ]
    return markdown.table(["operation", "unit", "what it does", "which of them"], rows, numbers=[0, 3])


def count_bundles(capture: Capture) -> int:
    """Return how many bundles the kernels of a capture have, what is around them left out."""
    return sum(kernel.size for kernel in read_below(capture) if kernel.is_kernel)


def matrix_bundles(programs: Mapping[str, tuple[str, Captures]]) -> str:
    """Return how many bundles the kernels of each program have on each TPU, as an HTML table.

    Args:
        programs: As in `number_matrix`, captured with `machine=True`.
    """
    return number_matrix(programs, count_bundles, "Bundles of all kernels, each loop's body once", exact=True)


def table_kernels(captures: Captures) -> str:
    """Return the kernels of a program on each TPU: what they are made for, bundles, cycles and what is busiest."""
    rows = [
        (
            title(target),
            markdown.code(kernel.name),
            f"line {kernel.line.number}" if kernel.line else "",
            kernel.size,
            "" if kernel.cycles is None else kernel.cycles,
            _say_busiest(kernel),
        )
        for target, capture in captures.items()
        for kernel in read_below(capture)
        if kernel.is_kernel
    ]
    header = ["target", "kernel", "from", "bundles", "cycles once through", "busiest unit"]
    return markdown.table(header, rows, numbers=[3, 4])


def _say_busiest(kernel: BundledKernel) -> str:
    unit = kernel.utilization.busiest
    return f"{UNITS[unit][0]}, {kernel.utilization.shares[unit]:.0%}" if unit else ""


def table_operations(kernel: BundledKernel) -> str:
    """Return how many operations a kernel has by unit, and what each unit does."""
    units = list_units()
    rows = [
        (units[key].title if key in units else UNKNOWN, number, units[key].sentence if key in units else "")
        for key, number in sorted(kernel.units.items(), key=lambda item: -item[1])
    ]
    return markdown.table(["unit", "operations", "what it does"], rows, numbers=[1])


def table_steps(kernel: BundledKernel, *, silent: bool = False) -> str:
    """Return the steps that made a kernel, in words, with the size that each left.

    Args:
        kernel: The kernel.
        silent: Whether steps that changed nothing are listed too.
    """
    rows = []
    for position, stage in enumerate(kernel.stages):
        if not silent and position and (stage.is_changed is False or stage.name.startswith(BEFORE)):
            continue
        known = find_step(stage.name)
        sizes = [
            plural(number, noun)
            for number, noun in ((stage.instructions, "instruction"), (stage.bundles, "bundle"))
            if number is not None
        ]
        rows.append((known.phase if known else "", known.sentence if known else "not known", ", ".join(sizes)))
    shown = [
        ("" if position and row[0] == rows[position - 1][0] else row[0], *row[1:]) for position, row in enumerate(rows)
    ]
    return markdown.table(["phase", "step", "size after it"], shown)
