"""Pictures and tables of a TPU's kernels below HLO: busy units, the longest chain of operations, and lowering steps."""

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

# CSS pixels: the width of a phone's column, of a unit's name and its share, the height of a row and of its bar.
WIDTH, LEFT, RIGHT, LINE, BAR, GAP = 352, 98, 36, 20, 16, 4
COLUMNS = 72
"""The maximum number of parts of a kernel that a row shows."""

UNKNOWN = "unknown"

BEFORE = "pre-"
"""The prefix of the names of stages that are not the result of a lowering step of their own; tables omit them."""


def draw_utilization(kernel: BundledKernel) -> str:
    """Return a chart, as HTML, of the utilization of each busy unit of a TPU core over a kernel's bundles.

    Args:
        kernel: The kernel, or the code around the kernels.
    """
    utilization = kernel.utilization
    # Units that a kernel does not use would only add empty rows.
    busy = [unit for unit in UNITS if utilization.shares.get(unit)]
    marks = []
    for row, unit in enumerate(busy):
        share, y = utilization.shares[unit], row * (LINE + GAP)
        name, does = UNITS[unit]
        tooltip = f"{name}: {share:.0%} of its slots are used, by {does}"
        steps = _draw_steps(utilization.follow(unit, COLUMNS), y)
        marks.append(
            f'<g class="tpu"><title>{html.escape(tooltip)}</title>'
            f'<text x="0" y="{y + BAR - 4}">{html.escape(name)}</text>'
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y + BAR}" y2="{y + BAR}"/>{steps}'
            f'<text x="{WIDTH - RIGHT + 5}" y="{y + BAR - 4}">{share:.0%}</text></g>'
        )
    shares = ", ".join(f"{UNITS[unit][0]} {utilization.shares[unit]:.0%}" for unit in busy)
    what = f"Slots that each unit uses over the {plural(kernel.size, 'bundle')} of {kernel.name}"
    height = max(len(busy) * (LINE + GAP) - GAP, 1)
    picture = svg("".join(marks), f"{what}: {shares or 'none'}", (WIDTH, height))
    note = "from the first bundle on the left to the last; each percentage is an average over all bundles"
    return figure("bars", picture, f"{html.escape(what)}, {note}.")


def _draw_steps(shares: tuple[float, ...], top: float) -> str:
    """Return SVG rectangles as high as the shares; adjacent parts of equal height are merged."""
    width = (WIDTH - LEFT - RIGHT) / max(len(shares), 1)
    rectangles, at = [], 0
    # The heights are rounded before they are grouped, so that parts that look equal become one rectangle.
    for height, run in groupby(round(BAR * share, 1) for share in shares):
        count = len(list(run))
        if height:
            x, y = LEFT + at * width, top + BAR - height
            rectangles.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{count * width:.1f}" height="{height:.1f}"/>')
        at += count
    return "".join(rectangles)


def draw_critical_path(kernel: BundledKernel) -> str:
    """Return a chart, as HTML, of a kernel's longest chain of dependent operations: a row for each unit, in cycles.

    Args:
        kernel: The kernel. Without a chain the result is an empty string.
    """
    chain = kernel.critical_path
    if chain is None or not chain.cycles:
        return ""
    spans = _join_steps(chain)
    rows = list(dict.fromkeys(name for name, *_ in spans))
    scale = (WIDTH - LEFT) / chain.cycles
    marks = [
        f'<text x="0" y="{row * (LINE + GAP) + BAR - 4}">{html.escape(name)}</text>' for row, name in enumerate(rows)
    ]
    for name, start, cycles, count in spans:
        y, x = rows.index(name) * (LINE + GAP), LEFT + start * scale
        tooltip = f"{name}: {plural(count, 'operation')}, {plural(cycles, 'cycle')} from cycle {start:,}"
        # Few cycles of a long chain would be narrower than a pixel, so a minimum width keeps them visible.
        marks.append(
            f'<g class="tpu"><title>{html.escape(tooltip)}</title>'
            f'<rect x="{x:.1f}" y="{y + 2}" width="{max(cycles * scale, 1):.1f}" height="{BAR - 4}"/></g>'
        )
    bottom = len(rows) * (LINE + GAP)
    marks.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH}" y1="{bottom}" y2="{bottom}"/>')
    marks.append(f'<text class="soft" x="{LEFT}" y="{bottom + 12}">0</text>')
    end = plural(chain.cycles, "cycle")
    marks.append(f'<text class="soft" x="{WIDTH}" y="{bottom + 12}" text-anchor="end">{end}</text>')
    what = f"The longest chain of operations in {kernel.name}, where each operation waits for the previous one"
    spans_text = ", ".join(f"{name} {cycles:,}" for name, _, cycles, _ in spans)
    picture = svg("".join(marks), f"{what}: {end}. {spans_text}", (WIDTH, bottom + 16))
    return figure("bars", picture, f"{html.escape(what)}: {end}, according to the compiler's estimate.")


def _join_steps(chain: Chain) -> list[tuple[str, int, int, int]]:
    """Return runs of operations on one unit: the unit's title, the first cycle, the cycles, and the operations."""
    titles = {key: unit.title for key, unit in list_units().items()}
    # The project's table may lack an operation of a new libtpu, so its mnemonic can be missing.
    kinds = [(titles[step.mnemonic.unit.key] if step.mnemonic else UNKNOWN, step) for step in chain.steps]
    spans, start = [], 0
    for name, run in groupby(kinds, key=lambda kind: kind[0]):
        steps = [step for _, step in run]
        cycles = sum(step.cycles for step in steps)
        spans.append((name, start, cycles, len(steps)))
        start += cycles
    return spans


def show_bundles(kernel: BundledKernel, command: str, *, allowed: bool) -> str:
    """Return a kernel's bundles as libtpu prints them, in a fold, or else the command that prints them.

    Args:
        kernel: The kernel.
        command: The command that prints the bundles on the reader's machine.
        allowed: Whether the site may show the bundles (`inside_xla.publication.may_show_bundles`).
    """
    what = f"{plural(kernel.size, 'bundle')} of {kernel.name}"
    if allowed:
        return markdown.fold(f"The {what}", markdown.fence(write_bundles(kernel), "text"))
    return f"`{command}` prints the {markdown.escape(what)} on your own machine.\n"


def show_bundle(kernel: BundledKernel, bundle: Bundle, *, allowed: bool) -> str:
    """Return an annotated bundle as HTML, or a table that describes its operations if its text is not allowed."""
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
    return markdown.table(["operation", "unit", "what it does", "unit number"], rows, numbers=[0, 3])


def count_bundles(capture: Capture) -> int:
    """Return the number of bundles in a capture's kernels, without the code around them."""
    return sum(kernel.size for kernel in read_below(capture) if kernel.is_kernel)


def matrix_bundles(programs: Mapping[str, tuple[str, Captures]]) -> str:
    """Return the number of bundles in each program's kernels on each TPU, as an HTML table.

    Args:
        programs: As in `number_matrix`, captured with `machine=True`.
    """
    return number_matrix(
        programs, count_bundles, "Bundles in all kernels, with each loop's body counted once", exact=True
    )


def table_kernels(captures: Captures) -> str:
    """Return a Markdown table of a program's kernels on each TPU: source line, bundles, cycles and busiest unit."""
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
    header = ["target", "kernel", "source line", "bundles", "cycles, loops run once", "busiest unit"]
    return markdown.table(header, rows, numbers=[3, 4])


def _say_busiest(kernel: BundledKernel) -> str:
    unit = kernel.utilization.busiest
    return f"{UNITS[unit][0]}, {kernel.utilization.shares[unit]:.0%}" if unit else ""


def table_operations(kernel: BundledKernel) -> str:
    """Return a Markdown table of the number of a kernel's operations by unit, with the purpose of each unit."""
    units = list_units()
    rows = [
        (units[key].title if key in units else UNKNOWN, number, units[key].sentence if key in units else "")
        for key, number in sorted(kernel.units.items(), key=lambda item: -item[1])
    ]
    return markdown.table(["unit", "operations", "what it does"], rows, numbers=[1])


def table_steps(kernel: BundledKernel, *, silent: bool = False) -> str:
    """Return a Markdown table of the steps that compiled a kernel, with the size of the kernel after each step.

    Args:
        kernel: The kernel.
        silent: Whether to list steps that changed nothing too.
    """
    rows = []
    for position, stage in enumerate(kernel.stages):
        # The first form is always listed, because the size of the kernel before any step is the baseline of the table.
        if not silent and position and (stage.is_changed is False or stage.name.startswith(BEFORE)):
            continue
        step = find_step(stage.name)
        sizes = [
            plural(number, noun)
            for number, noun in ((stage.instructions, "instruction"), (stage.bundles, "bundle"))
            if number is not None
        ]
        rows.append((step.phase if step else "", step.sentence if step else "not documented", ", ".join(sizes)))
    # A phase is only named in its first row, so that the rows of a phase read as one group.
    table_rows = [
        ("" if position and row[0] == rows[position - 1][0] else row[0], *row[1:]) for position, row in enumerate(rows)
    ]
    return markdown.table(["phase", "step", "size after it"], table_rows)
