"""A matrix of rewrites by program, element type and target, and listings of single rewrites pass by pass."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from xla_inspect.report import figure, markdown, print_computation, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import Fate
    from xla_inspect.captured import Capture, Captures

_EARLY = {"Python", "JAX", "import"}


def rewrite_matrix(rows: Mapping[str, Mapping[str, Mapping[str, Fate]]], caption: str) -> str:
    """Return a table of the outcomes of rewrites as HTML; neighbouring targets with the same outcome share a cell.

    Args:
        rows: The outcomes by rewrite, element type and target; every row has the same types and targets.
        caption: The caption, plain text; the order of the targets is added to it.
    """
    first = next(iter(rows.values()))
    targets = list(next(iter(first.values())))
    # CSS turns the cells into blocks on narrow screens; the roles keep the element a table for screen readers.
    heads = "".join(
        f'<th role="columnheader" scope="colgroup" colspan="{len(targets)}">{markdown.escape(kind)}</th>'
        for kind in first
    )
    lanes = "".join(
        f'<th role="columnheader" scope="col">{markdown.escape(_short(target))}</th>' for target in targets
    ) * len(first)
    body = "".join(
        f'<tr role="row"><th role="rowheader" scope="row">{markdown.code(name)}</th>'
        + "".join(_cells(kind, fates) for kind, fates in kinds.items())
        + "</tr>"
        for name, kinds in rows.items()
    )
    table = (
        f'<table class="fates" role="table"><thead role="rowgroup"><tr role="row">'
        f'<th role="columnheader" rowspan="2" scope="col">rewrite</th>{heads}</tr>'
        f'<tr role="row">{lanes}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
    )
    under = f"{markdown.escape(caption)} From left to right: {', '.join(map(_short, targets))}."
    return figure("fates", table, under)


def show_rewrite(capture: Capture, fate: Fate) -> str:
    """Return the entry computation as imported, and after each pass that changed it up to the deciding pass.

    Raises:
        ValueError: No pass removed the operations.
    """
    if fate.step is None:
        message = f"no pass removed the operations: {fate.by or 'they are still in the module'}"
        raise ValueError(message)
    return show_steps(capture, fate.step)


def show_steps(capture: Capture, last: int, first: int = -1, *, layouts: bool = False) -> str:
    """Return the entry computation as imported, and after each of the first passes that changed it, as one listing.

    Lines that are not in the previous module are highlighted.

    Args:
        capture: The program on one target.
        last: The index in `Capture.passes` of the last pass to show.
        first: The index of the first module to show, -1 for the imported one.
        layouts: Whether shapes are printed with their layouts.
    """
    listing = print_computation(capture.unoptimized_module.entry, layouts=layouts)
    blocks = [("// as imported", listing)]
    for step in capture.passes[: last + 1]:
        earlier, listing = listing, print_computation(step.module.entry, layouts=layouts)
        blocks.append((f"// after {step.name}, in {step.pipeline}", "" if listing == earlier else listing))
    lines: list[str] = []
    marked: list[int] = []
    above: set[str] = set()
    for name, body in blocks[first + 1 :]:
        lines += ["", name] if lines else [name]
        for line in body.splitlines() or ["// ENTRY is the same"]:
            lines.append(line)
            # The first listing has no previous module, so none of its lines are new.
            if above and body and line not in above:
                marked.append(len(lines))
        # An unchanged module has an empty listing, so the last printed one stays the one to compare with.
        above = set(body.splitlines()) or above
    fence = markdown.fence("\n".join(lines), "hlo")
    # Only the opening line gets the attribute, although the listing may contain the same characters.
    return fence.replace("```hlo", f'```hlo hl_lines="{" ".join(map(str, marked))}"', 1) if marked else fence


def show_entries(captures: Captures) -> str:
    """Return each target's optimized entry computation, without layouts, in one listing."""
    blocks = [
        f"// {title(target)}\n{print_computation(capture.module.entry, layouts=False)}"
        for target, capture in captures.items()
    ]
    return markdown.fence("\n\n".join(blocks), "hlo")


def _cells(kind: str, fates: Mapping[str, Fate]) -> str:
    cells: list[str] = []
    for by, group in groupby(fates.items(), key=lambda pair: pair[1].by):
        targets = [target for target, _ in group]
        state = "kept" if not by else "early" if by in _EARLY else "pass"
        where = f"{kind}, {', '.join(map(_short, targets))}"
        # Narrow screens show the type before its cells instead of in the head of the column.
        head = "" if cells else f' data-kind="{markdown.escape(kind)}"'
        cells.append(
            f'<td class="{state}" role="cell" colspan="{len(targets)}" data-span="{len(targets)}"{head}'
            f' title="{markdown.escape(where)}">{_name(by)}</td>'
        )
    return "".join(cells)


def _name(by: str) -> str:
    """Return the name of the deciding pass or stage, with break opportunities for narrow columns."""
    # The escaped text contains underscores as entities, and long names may only break after them.
    return markdown.escape(by).replace("&#95;", "&#95;<wbr>") if by else "kept"


def _short(target: str) -> str:
    """Return the target's title without the vendor's name, because columns are narrow."""
    return title(target).removeprefix("NVIDIA ")
