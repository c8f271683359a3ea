"""Many programs on many targets: a number for each as a matrix, what changes from target to target, and a card each."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from chapters.target_diff import compare_targets, count_kinds
from xla_inspect.analysis import list_kernels, list_launches
from xla_inspect.report import lane, markdown, short, title
from xla_inspect.targets import FAMILIES

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from chapters.target_diff import GenerationStep
    from xla_inspect.captured import Capture, Captures

_UNITS = (("G", 2**30), ("M", 2**20), ("K", 2**10))
_SMALL = 10


def strip_topologies(captures: Captures) -> dict[str, Capture]:
    """Return captures by the name of their target without a topology."""
    return {target.partition(":")[0]: capture for target, capture in captures.items()}


def number_matrix(
    programs: Mapping[str, tuple[str, Captures]],
    number: Callable[[Capture], int],
    what: str,
    *,
    exact: bool = False,
) -> str:
    """Return a number for each program on each target as an HTML table that a phone has room for.

    A number that differs from that of the target before it, of the same maker, is marked. A target that did not
    compile has a `no`, which leads to the program's own section.

    Args:
        programs: The address of a program's section -> its title and captures.
        number: The number of a capture; large ones are written in K, M and G, powers of 1024.
        what: What the numbers are, plain text.
        exact: Whether large numbers are written out instead.
    """
    bases = [target.partition(":")[0] for _, captures in programs.values() for target in captures.targets]
    columns = list(dict.fromkeys(bases))
    head = "".join(
        f'<th scope="col" class="{lane(base)}"><span>{markdown.escape(_label(base))}</span></th>' for base in columns
    )
    rows = "".join(
        f'<tr><th scope="row"><a href="#{name}">{markdown.escape(label)}</a></th>'
        f"{_row(name, captures, columns, number, '{:,}'.format if exact else _short)}</tr>"
        for name, (label, captures) in programs.items()
    )
    caption = f"<caption>{markdown.escape(what)}</caption>"
    head = f"<thead><tr><td></td>{head}</tr></thead>"
    return f'<table class="matrix">{caption}{head}<tbody>{rows}</tbody></table>\n'


def _row(
    name: str,
    captures: Captures,
    columns: Sequence[str],
    number: Callable[[Capture], int],
    write: Callable[[int], str],
) -> str:
    by_target = strip_topologies(captures)
    before = {new: old for family in FAMILIES for old, new in pairwise(family)}
    cells = []
    for base in columns:
        if base not in by_target:
            cells.append(f'<td class="none"><a href="#{name}" title="not compiled; the section says why">no</a></td>')
            continue
        value, old = number(by_target[base]), by_target.get(before.get(base, ""))
        mark = ' class="new"' if old and number(old) != value else ""
        cells.append(f"<td{mark}>{write(value)}</td>")
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


def list_generation_steps(
    programs: Mapping[str, tuple[str, Captures]], old: str, new: str
) -> dict[str, GenerationStep]:
    """Return what changes for each program from one target to another; one that either refuses is left out."""
    programs_by_target = {name: strip_topologies(captures) for name, (_, captures) in programs.items()}
    return {
        name: compare_targets(by_target[old], by_target[new])
        for name, by_target in programs_by_target.items()
        if old in by_target and new in by_target
    }


def show_generations(programs: Mapping[str, tuple[str, Captures]], family: Iterable[str]) -> str:
    """Return what changes from each target of a family to the next: a line each, and every program folded under it.

    Args:
        programs: As for `matrix`.
        family: Short names of targets, the oldest first.
    """
    return "\n".join(_print_step(programs, old, new) for old, new in pairwise(family))


def _print_step(programs: Mapping[str, tuple[str, Captures]], old: str, new: str) -> str:
    steps = list_generation_steps(programs, old, new)
    other = [name for name, step in steps.items() if step.has_other_launches]
    grids = [name for name, step in steps.items() if step.is_regridded]
    passes = [name for name, step in steps.items() if step.has_other_passes]
    heading = (
        f"{title(old)} to {title(new)}: of {len(steps)} programs {len(other)} with other launches, "
        f"{len(grids)} with the same in other sizes, {len(passes)} with other passes"
    )
    rows = [
        (
            f'<a href="#{name}">{markdown.escape(programs[name][0])}</a>',
            _signed(step.launches_gone, step.launches_new) or ("other sizes" if step.is_regridded else "the same"),
            _signed(step.passes_gone, step.passes_new) or "the same",
        )
        for name, step in steps.items()
        if step.has_other_launches or step.is_regridded or step.has_other_passes
    ]
    if not rows:
        return f"{heading}.\n{{ .step }}\n"
    return markdown.fold(heading, markdown.cards(["program", "launches", "passes that changed it"], rows))


def _signed(gone: Counter[str], new: Counter[str]) -> str:
    changes = [f"-{number} {markdown.code(name)}" for name, number in sorted(gone.items())]
    changes += [f"+{number} {markdown.code(name)}" for name, number in sorted(new.items())]
    return ", ".join(changes)


def show_launch_kinds(captures: Captures) -> str:
    """Return the kinds of kernels of one program as a table, and of collectives and copies beside them.

    Targets of one kind with the same of them share a row.

    A target that did not compile has a row of its own, which says why.
    """
    groups: dict[tuple[str, int, str, str], list[str]] = {}
    for target, capture in captures.items():
        kernels = count_kinds(list_kernels(capture))
        kinds, besides = _list_kinds(kernels), _list_kinds(count_kinds(list_launches(capture)) - kernels)
        groups.setdefault((lane(target), kernels.total(), kinds, besides), []).append(target)
    rows: list[tuple[object, ...]] = [
        (", ".join(map(short, targets)), *counted) for (_, *counted), targets in groups.items()
    ]
    rows += [(short(target), "none", markdown.escape(reason), "") for target, reason in captures.missing.items()]
    return markdown.table(["targets", "kernels", "of which kinds", "besides"], rows, numbers=[1])


def _list_kinds(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} {markdown.code(kind)}" for kind, number in sorted(kinds.items()))
