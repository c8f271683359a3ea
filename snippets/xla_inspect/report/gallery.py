"""Many programs on many targets: a number for each as a matrix, what changes from target to target, and a card each."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from xla_inspect.hlo.generations import compare_targets, count_launches
from xla_inspect.report import markdown
from xla_inspect.report.titles import lane, short, title

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from xla_inspect.hlo.generations import Step
    from xla_inspect.hlo.record import Capture, Captures

FAMILIES = (("a100", "h100", "h200", "b200"), ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x"))
"""Targets of one maker, the oldest first."""

_UNITS = (("G", 2**30), ("M", 2**20), ("K", 2**10))
_SMALL = 10


def by_base(captures: Captures) -> dict[str, Capture]:
    """Return captures by the name of their target without a topology."""
    return {target.partition(":")[0]: capture for target, capture in captures.items()}


def matrix(programs: Mapping[str, tuple[str, Captures]], number: Callable[[Capture], int], what: str) -> str:
    """Return a number for each program on each target as an HTML table that a phone has room for.

    A number that differs from that of the target before it, of the same maker, is marked. A target that did not
    compile has a `no`, which leads to the program's own section.

    Args:
        programs: The address of a program's section -> its title and captures.
        number: The number of a capture; large ones are written in K, M and G, powers of 1024.
        what: What the numbers are, plain text.
    """
    bases = [target.partition(":")[0] for _, captures in programs.values() for target in captures.targets]
    columns = list(dict.fromkeys(bases))
    head = "".join(
        f'<th scope="col" class="{lane(base)}"><span>{markdown.escape(_label(base))}</span></th>' for base in columns
    )
    rows = "".join(
        f'<tr><th scope="row"><a href="#{name}">{markdown.escape(label)}</a></th>'
        f"{_row(name, captures, columns, number)}</tr>"
        for name, (label, captures) in programs.items()
    )
    caption = f"<caption>{markdown.escape(what)}</caption>"
    head = f"<thead><tr><td></td>{head}</tr></thead>"
    return f'<table class="matrix">{caption}{head}<tbody>{rows}</tbody></table>\n'


def _row(name: str, captures: Captures, columns: Sequence[str], number: Callable[[Capture], int]) -> str:
    found = by_base(captures)
    before = {new: old for family in FAMILIES for old, new in pairwise(family)}
    cells = []
    for base in columns:
        if base not in found:
            cells.append(f'<td class="none"><a href="#{name}" title="not compiled; the section says why">no</a></td>')
            continue
        value, old = number(found[base]), found.get(before.get(base, ""))
        mark = ' class="new"' if old and number(old) != value else ""
        cells.append(f"<td{mark}>{_short(value)}</td>")
    return "".join(cells)


def _label(base: str) -> str:
    return short(base).removeprefix("TPU ")


def _short(number: int) -> str:
    """Return a number in four characters at most."""
    for unit, size in _UNITS:
        if number >= size:
            value = number / size
            return f"{value:.1f}{unit}" if value < _SMALL and round(value, 1) != int(value) else f"{value:.0f}{unit}"
    return str(number)


def list_steps(programs: Mapping[str, tuple[str, Captures]], old: str, new: str) -> dict[str, Step]:
    """Return what changes for each program from one target to another; one that either refuses is left out."""
    found = {name: by_base(captures) for name, (_, captures) in programs.items()}
    return {name: compare_targets(each[old], each[new]) for name, each in found.items() if old in each and new in each}


def steps(programs: Mapping[str, tuple[str, Captures]], family: Iterable[str]) -> str:
    """Return what changes from each target of a family to the next: a line each, and every program folded under it.

    Args:
        programs: As for `matrix`.
        family: Short names of targets, the oldest first.
    """
    return "\n".join(_print_step(programs, old, new) for old, new in pairwise(family))


def _print_step(programs: Mapping[str, tuple[str, Captures]], old: str, new: str) -> str:
    found = list_steps(programs, old, new)
    other = [name for name, step in found.items() if step.has_other_launches]
    grids = [name for name, step in found.items() if step.is_regridded]
    passes = [name for name, step in found.items() if step.has_other_passes]
    heading = (
        f"{title(old)} to {title(new)}: of {len(found)} programs {len(other)} with other launches, "
        f"{len(grids)} with the same in other sizes, {len(passes)} with other passes"
    )
    rows = [
        (
            f'<a href="#{name}">{markdown.escape(programs[name][0])}</a>',
            _signed(step.launches_gone, step.launches_new) or ("other sizes" if step.is_regridded else "the same"),
            _signed(step.passes_gone, step.passes_new) or "the same",
        )
        for name, step in found.items()
        if step.has_other_launches or step.is_regridded or step.has_other_passes
    ]
    if not rows:
        return f"{heading}.\n{{ .step }}\n"
    return markdown.fold(heading, markdown.cards(["program", "launches", "passes that changed it"], rows))


def _signed(gone: Counter[str], new: Counter[str]) -> str:
    said = [f"-{number} {markdown.code(name)}" for name, number in sorted(gone.items())]
    said += [f"+{number} {markdown.code(name)}" for name, number in sorted(new.items())]
    return ", ".join(said)


def launches(captures: Captures) -> str:
    """Return the kinds of launches of one program as a table, targets of one kind with the same of them in one row.

    A target that did not compile has a row of its own, which says why.
    """
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for target, capture in captures.items():
        groups.setdefault((lane(target), tuple(sorted(count_launches(capture).items()))), []).append(target)
    rows: list[tuple[str, object, str]] = [
        (
            ", ".join(map(short, targets)),
            sum(number for _, number in kinds),
            ", ".join(f"{number} {markdown.code(kind)}" for kind, number in kinds),
        )
        for (_, kinds), targets in groups.items()
    ]
    rows += [(short(target), "none", markdown.escape(reason)) for target, reason in captures.missing.items()]
    return markdown.table(["targets", "launches", "of which kinds"], rows, numbers=[1])
