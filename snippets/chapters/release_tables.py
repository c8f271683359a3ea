"""What changed between releases of JAX, as tables: for a page, a pull request and a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.report import format_bytes, lane, markdown, short, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from xla_inspect.releases import Change, Disagreement, Drift, PassDrift, Release, ReleaseOutcome, SetChange

    Tabulate = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
    Fold = Callable[[str, str], str]

KINDS = {"cpu": "CPU", "gpu": "NVIDIA GPUs", "tpu": "TPUs"}

MOST = 8
"""The rows of a table that stand open; the others are folded."""

OPERATIONS = 3
"""The operations of code that a row names."""

NUMBERS: Mapping[str, Callable[[ReleaseOutcome], int | None]] = {
    "temporaries": lambda outcome: outcome.memory.get("temporaries", 0) if outcome.memory else None,
    "main-memory traffic": lambda outcome: outcome.traffic,
}
"""What is compared of the bytes of a program."""


def breakable_code(text: str) -> str:
    """Return a name as HTML code that may break where its words do."""
    return f"<code>{markdown.escape(text)}</code>"


def section_id(release: Release, package: str = "") -> str:
    """Return the id of a release's section: `v0-12-0-1`, or of one of its packages: `libtpu-0-0-52`."""
    return (f"{package}-{release.versions[package]}" if package else f"v{release.jax}").replace(".", "-")


def name_update(drift: Drift) -> str:
    """Return what an update is called: `JAX 0.11.2 to 0.12.0.1`, or `libtpu 0.0.51 to 0.0.52` under one JAX."""
    if drift.old.jax != drift.new.jax:
        return f"JAX {drift.old.jax} to {drift.new.jax}"
    return f"libtpu {drift.old.versions['libtpu']} to {drift.new.versions['libtpu']}"


def update_matrix(drifts: Sequence[Drift], targets: Sequence[str]) -> str:
    """Return how many programs have changed launches after each step, by target, as an HTML table.

    Args:
        drifts: The steps, in the order of the rows.
        targets: The columns.
    """
    head = "".join(
        f'<th scope="col" class="{lane(target)}"><span>{markdown.escape(short(target))}</span></th>'
        for target in targets
    )
    rows = "".join(
        f'<tr><th scope="row"><a href="#{_link(drift)}">{name_update(drift).removeprefix("JAX ")}</a></th>'
        + "".join(_cell(drift, target) for target in targets)
        + "</tr>"
        for drift in drifts
    )
    caption = "Programs of a hundred whose launches an update changed"
    return (
        f'<table class="matrix drift"><caption>{caption}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>\n"
    )


def _link(drift: Drift) -> str:
    return section_id(drift.new, "" if drift.old.jax != drift.new.jax else "libtpu")


def _cell(drift: Drift, target: str) -> str:
    count = drift.count(target)
    if not count:
        return '<td class="none" title="not compiled for under both">&ndash;</td>'
    changed = len(drift.changed_programs(target))
    tooltip = f"{title(target)}: {changed} of {count} programs"
    share = round(100 * changed / count)
    return f'<td style="--share: {share}%" title="{tooltip}">{share}</td>'


def fold_rows(rows: Sequence[Sequence[str]], head: Sequence[str], tabulate: Tabulate, fold: Fold) -> str:
    """Return a table whose rows beyond the first few are folded."""
    table = tabulate(head, rows[:MOST])
    if len(rows) <= MOST:
        return table
    return table + "\n" + fold(f"{len(rows) - MOST} more", tabulate(head, rows[MOST:]))


def tabulate_launches(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return which programs have changed launches, targets where the same changed together, as a table."""
    joined: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for (program, target), changed in drift.launches.items():
        joined.setdefault((program, tuple(changed.items())), []).append(target)
    ordered = sorted(joined.items(), key=lambda item: (-len(item[1]), -_weigh(item[0][1]), item[0][0]))
    rows = [
        [breakable_code(program), ", ".join(map(short, targets)), write_counts(dict(changed))]
        for (program, changed), targets in ordered
    ]
    if not rows:
        return "The launches of no program changed.\n"
    return fold_rows(rows, ["program", "targets", "launches"], tabulate, fold)


def _weigh(changed: Iterable[tuple[str, int]]) -> int:
    return sum(abs(number) for _, number in changed)


def write_counts(changed: Mapping[str, int]) -> str:
    """Return counts that changed as HTML, what came first: `+2 fusion kLoop, -1 reduce`."""
    ordered = sorted(changed.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(
        f"{'+' if number > 0 else '&minus;'}{abs(number)} {breakable_code(name)}" for name, number in ordered
    )


def tabulate_passes(drift: Drift, tabulate: Tabulate) -> str:
    """Return which passes were renamed, new and removed for each kind of target, as a table."""
    rows = []
    for kind, name in KINDS.items():
        if kind not in drift.old.passes or kind not in drift.new.passes:
            continue
        passes = drift.passes(kind)
        if passes.total:
            rows.append([name, *_say_passes(passes)])
    if not rows:
        return "The same passes run.\n"
    return tabulate(["target", "renamed", "new", "removed"], rows)


def _say_passes(passes: PassDrift) -> tuple[str, str, str]:
    renamed = ", ".join(f"{breakable_code(old)} is now {breakable_code(new)}" for old, new in passes.renamed)
    return renamed or "none", write_names(passes.added), write_names(passes.gone)


def write_names(names: Sequence[str]) -> str:
    """Return names as HTML code in one line, or `none`."""
    return ", ".join(map(breakable_code, names)) or "none"


def tabulate_bytes(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return whose bytes changed, what moved most first, as a table."""
    ordered = sorted(
        (
            (abs(change.after - change.before), what, change)
            for what, of in NUMBERS.items()
            for change in drift.numbers(of)
        ),
        key=lambda item: (-item[0], item[1], item[2].program, item[2].target),
    )
    rows = [
        [breakable_code(change.program), short(change.target), what, _say_change(change)] for _, what, change in ordered
    ]
    if not rows:
        return "Temporaries and main-memory traffic of every program stayed the same.\n"
    return fold_rows(rows, ["program", "target", "bytes of", "change"], tabulate, fold)


def tabulate_code(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return which programs launch the same with other code, as a table."""
    rows = [
        [
            breakable_code(change.program),
            short(change.target),
            f"{100 * change.share:.0f} %",
            _say_loops(*change.deepest),
            write_counts(dict(sorted(change.operations.items(), key=_order_by_size)[:OPERATIONS])) or "none",
        ]
        for change in drift.rewritten
    ]
    if not rows:
        return "No program that launches the same has mostly other code.\n"
    return fold_rows(
        rows, ["program", "target", "other code", "innermost loop", "operations, most changed"], tabulate, fold
    )


def _say_loops(before: int, after: int) -> str:
    """Return how deep the innermost loop lies in others before and after, none where there is none."""
    depths = [f"{depth} deep" if depth else "none" for depth in (before, after)]
    return depths[0] if before == after else " to ".join(depths)


def _order_by_size(item: tuple[str, int]) -> tuple[int, str]:
    return -abs(item[1]), item[0]


def _say_change(change: Change) -> str:
    return f"{format_bytes(change.before)} to {format_bytes(change.after)}"


def tabulate_forms(drift: Drift, tabulate: Tabulate) -> str:
    """Return how jaxprs and StableHLO of the programs changed, as a table."""
    jaxprs, modules = drift.reprinted
    traced: Counter[str] = Counter()
    for changed in drift.traced.values():
        traced.update(changed)
    lowered: Counter[str] = Counter()
    for changed in {program: changed for (program, _), changed in drift.lowered.items()}.values():
        lowered.update(changed)
    rows = [
        ["jaxpr", str(len(jaxprs)), _say_set(drift.primitives), _say_sets(drift.parameters), _counted(traced)],
        ["StableHLO", str(len(modules)), _say_set(drift.operations), _say_sets(drift.attributes), _counted(lowered)],
    ]
    return tabulate(
        ["form", "programs whose text changed", "names", "parameters, attributes", "counts, all programs"], rows
    )


def _counted(changed: Counter[str]) -> str:
    return write_counts({name: number for name, number in changed.items() if number}) or "none"


def _say_set(change: SetChange) -> str:
    parts = [f"new: {write_names(change.added)}"] if change.added else []
    parts += [f"removed: {write_names(change.gone)}"] if change.gone else []
    return "; ".join(parts) or "none"


def _say_sets(changes: Mapping[str, SetChange]) -> str:
    """Return names with what each has gained and lost: `reduce_sum +out_sharding`."""
    descriptions = []
    for name, change in changes.items():
        signs = [f"+{member}" for member in change.added] + [f"-{member}" for member in change.gone]
        descriptions.append(breakable_code(f"{name} {' '.join(signs)}"))
    return ", ".join(descriptions) or "none"


def tabulate_names(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return the public names that were removed, and folded those that are new, by module."""
    gone = [[breakable_code(module), write_names(change.gone)] for module, change in drift.names.items() if change.gone]
    added = [
        [breakable_code(module), write_names(change.added)] for module, change in drift.names.items() if change.added
    ]
    table = tabulate(["module", "removed"], gone) if gone else "No public name was removed.\n"
    number = sum(len(change.added) for change in drift.names.values())
    return table + ("\n" + fold(f"{number} new names", tabulate(["module", "new"], added)) if added else "")


def tabulate_failures(drift: Drift, tabulate: Tabulate) -> str:
    """Return what compiles under one of the two alone, as a table, or an empty string."""
    rows = [
        [breakable_code(program), short(target), when, markdown.escape(error)]
        for when, failures in (("no longer compiles", drift.newly_failing), ("compiles now", drift.newly_compiling))
        for (program, target), error in failures.items()
    ]
    return tabulate(["program", "target", "under the newer", "the error"], rows) if rows else ""


def tabulate_disagreements(
    disagreements: Sequence[Disagreement], place: Callable[[Disagreement], str], tabulate: Tabulate, fold: Fold
) -> str:
    """Return what on the site's pages does not hold under a release, as a table.

    Args:
        disagreements: What does not hold.
        place: Gives where a sentence stands, as HTML.
        tabulate: Makes a table.
        fold: Makes a fold.
    """
    rows = [
        [place(disagreement), markdown.escape(disagreement.sentence), markdown.escape(disagreement.error)]
        for disagreement in disagreements
    ]
    return fold_rows(rows, ["where", "what is said there", "what came of it"], tabulate, fold)


def fold_by_page(disagreements: Sequence[Disagreement], fold: Fold) -> str:
    """Return what on the site's pages does not hold under a release, a fold for each page, as Markdown.

    Args:
        disagreements: What does not hold, in the order of the pages.
        fold: Makes a fold.
    """
    pages: dict[str, list[Disagreement]] = {}
    for disagreement in disagreements:
        pages.setdefault(disagreement.page, []).append(disagreement)
    parts = []
    for page, those in pages.items():
        checks, others = (
            sum((disagreement.what == "check") == are_checks for disagreement in those) for are_checks in (True, False)
        )
        counts = [plural(checks, "check")] if checks else []
        counts += [plural(others, "value or block", "values or blocks")] if others else []
        lines = "".join(
            f"* {_tell_piece(disagreement)}: {breakable_code(disagreement.error)}\n" for disagreement in those
        )
        address = page.removeprefix("docs/")
        name = address.removesuffix(".md")
        parts.append(fold(f"{name}: {', '.join(counts)}", f"On [this page]({address}):\n\n{lines}\n"))
    return "\n".join(parts)


def _tell_piece(disagreement: Disagreement) -> str:
    """Return what a reader knows it by: a check by its claim, a value or block by its code."""
    return (
        markdown.escape(disagreement.sentence)
        if disagreement.what == "check"
        else breakable_code(disagreement.sentence)
    )


def list_versions(release: Release) -> str:
    """Return the packages that a release was measured with, in one line of HTML."""
    return ", ".join(f"{name} {version}" for name, version in release.versions.items())
