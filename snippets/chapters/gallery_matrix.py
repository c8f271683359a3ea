"""Tables of many programs on many targets: a number for each pair, and the changes from one target to the next."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from chapters.target_diff import compare_targets, count_kinds
from xla_inspect.analysis import list_kernels, list_launches
from xla_inspect.plural import plural
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
    """Return captures by the name of their target without its topology, such as `h100` for `h100:8`."""
    return {target.partition(":")[0]: capture for target, capture in captures.items()}


def number_matrix(
    programs: Mapping[str, tuple[str, Captures]],
    number: Callable[[Capture], int],
    what: str,
    *,
    exact: bool = False,
) -> str:
    """Return a number for each program on each target, as an HTML table that fits on a phone.

    A number is marked if it differs from the number of the vendor's previous target. The cell of a target that did not
    compile contains `no`, a link to the program's section.

    Args:
        programs: The anchor of each program's section, mapped to its title and captures.
        number: Returns the number of a capture; large numbers are written in K, M and G, powers of 1024.
        what: A description of the numbers, plain text.
        exact: Whether large numbers are written out in full.
    """
    # Sharded programs have targets with a topology, which belong to the same column.
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
        # The first target of a family has no predecessor, so its numbers are never marked.
        value, old = number(by_target[base]), by_target.get(before.get(base, ""))
        mark = ' class="new"' if old and number(old) != value else ""
        cells.append(f"<td{mark}>{write(value)}</td>")
    return "".join(cells)


def _label(base: str) -> str:
    return short(base).removeprefix("TPU ")


def _short(number: int) -> str:
    """Return a number as text of at most four characters."""
    for unit, size in _UNITS:
        if number >= size:
            value = number / size
            # A decimal is only shown if it is not 0, and if the text stays within four characters.
            return f"{value:.1f}{unit}" if value < _SMALL and round(value, 1) != int(value) else f"{value:.0f}{unit}"
    return str(number)


def list_generation_steps(
    programs: Mapping[str, tuple[str, Captures]], old: str, new: str
) -> dict[str, GenerationStep]:
    """Return the changes of each program from one target to another, without programs that either target rejects."""
    programs_by_target = {name: strip_topologies(captures) for name, (_, captures) in programs.items()}
    return {
        name: compare_targets(by_target[old], by_target[new])
        for name, by_target in programs_by_target.items()
        if old in by_target and new in by_target
    }


def show_generations(programs: Mapping[str, tuple[str, Captures]], family: Iterable[str]) -> str:
    """Return Markdown that says, for each step from one target to the next, which programs changed; they are folded.

    Args:
        programs: As in `number_matrix`.
        family: Short names of targets, the oldest first.
    """
    return "\n".join(_print_step(programs, old, new) for old, new in pairwise(family))


def _print_step(programs: Mapping[str, tuple[str, Captures]], old: str, new: str) -> str:
    steps = list_generation_steps(programs, old, new)
    other = [name for name, step in steps.items() if step.has_other_launches]
    grids = [name for name, step in steps.items() if step.is_regridded]
    passes = [name for name, step in steps.items() if step.has_other_passes]
    heading = (
        f"{title(old)} to {title(new)}: of {plural(len(steps), 'program')}, {len(other)} launch other kernels, "
        f"{len(grids)} launch the same kernels in other sizes, and {len(passes)} are changed by other passes"
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
        # A fold without rows would open to nothing.
        return f"{heading}.\n{{ .step }}\n"
    return markdown.fold(heading, markdown.cards(["program", "launches", "passes that changed it"], rows))


def _signed(old: Counter[str], new: Counter[str]) -> str:
    changes = [f"-{number} {markdown.code(name)}" for name, number in sorted(old.items())]
    changes += [f"+{number} {markdown.code(name)}" for name, number in sorted(new.items())]
    return ", ".join(changes)


def show_launch_kinds(captures: Captures) -> str:
    """Return a Markdown table of the kinds of kernels, collectives and copies of one program, by target.

    Targets of one kind that launch the same share a row. A target that did not compile has a row with the reason.
    """
    groups: dict[tuple[str, int, str, str], list[str]] = {}
    for target, capture in captures.items():
        # Collectives and copies are launches but not kernels, so the difference of both counts lists them.
        kernels = count_kinds(list_kernels(capture))
        kinds, besides = _list_kinds(kernels), _list_kinds(count_kinds(list_launches(capture)) - kernels)
        groups.setdefault((lane(target), kernels.total(), kinds, besides), []).append(target)
    rows: list[tuple[object, ...]] = [
        (", ".join(map(short, targets)), *cells) for (_, *cells), targets in groups.items()
    ]
    rows += [(short(target), "none", markdown.escape(reason), "") for target, reason in captures.missing.items()]
    return markdown.table(["targets", "kernels", "kinds of kernels", "other launches"], rows, numbers=[1])


def _list_kinds(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} {markdown.code(kind)}" for kind, number in sorted(kinds.items()))
