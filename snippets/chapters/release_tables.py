"""Tables of the changes between releases of JAX, for a page, a pull request and a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.report import format_bytes, lane, markdown, short, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from xla_inspect.releases import Disagreement, Drift, PassDrift, Release, ReleaseOutcome, SetChange

    Tabulate = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
    Fold = Callable[[str, str], str]

KINDS = {"cpu": "CPU", "gpu": "NVIDIA GPUs", "tpu": "TPUs"}

MOST = 8
"""The number of visible rows of a table; the other rows are folded."""

OPERATIONS = 3
"""The number of operations of code that a row shows."""

NUMBERS: Mapping[str, Callable[[ReleaseOutcome], int | None]] = {
    "temporary memory": lambda outcome: outcome.memory.get("temporaries", 0) if outcome.memory else None,
    "main-memory traffic": lambda outcome: outcome.traffic,
}
"""The kinds of bytes that are compared, each with a function that reads it from an outcome, or returns None."""


def section_id(release: Release, package: str = "") -> str:
    """Return the id of the section of a release, `v0-12-0-1`, or of one of its packages, `libtpu-0-0-52`."""
    return (f"{package}-{release.versions[package]}" if package else f"v{release.jax}").replace(".", "-")


def name_update(drift: Drift) -> str:
    """Return the name of an update: `JAX 0.11.2 to 0.12.0.1`, or `libtpu 0.0.51 to 0.0.52` under one JAX."""
    if drift.old.jax != drift.new.jax:
        return f"JAX {drift.old.jax} to {drift.new.jax}"
    return f"libtpu {drift.old.versions['libtpu']} to {drift.new.versions['libtpu']}"


def update_matrix(drifts: Sequence[Drift], targets: Sequence[str]) -> str:
    """Return an HTML table of the percentage of programs with changed launches, by step and target."""
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
    caption = "Percentage of programs whose launches each update changed"
    return (
        f'<table class="matrix drift"><caption>{caption}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>\n"
    )


def _link(drift: Drift) -> str:
    return section_id(drift.new, "" if drift.old.jax != drift.new.jax else "libtpu")


def _cell(drift: Drift, target: str) -> str:
    count = drift.count(target)
    if not count:
        return '<td class="none" title="not compiled under both releases">&ndash;</td>'
    number = len(drift.changed_programs(target))
    tooltip = f"{title(target)}: {number} of {plural(count, 'program')}"
    share = round(100 * number / count)
    return f'<td style="--share: {share}%" title="{tooltip}">{share}</td>'


def fold_rows(rows: Sequence[Sequence[str]], head: Sequence[str], tabulate: Tabulate, fold: Fold) -> str:
    """Return a table of rows under a header, with the first `MOST` rows visible and the others folded."""
    table = tabulate(head, rows[:MOST])
    if len(rows) <= MOST:
        return table
    return table + "\n" + fold(plural(len(rows) - MOST, "more row"), tabulate(head, rows[MOST:]))


def tabulate_launches(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return a table of the programs with changed launches, or a sentence if there are none.

    Targets with the same changes of a program share a row.
    """
    joined: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for (program, target), changes in drift.launches.items():
        joined.setdefault((program, tuple(changes.items())), []).append(target)
    ordered = sorted(joined.items(), key=lambda item: (-len(item[1]), -_weigh(item[0][1]), item[0][0]))
    rows = [
        [markdown.code(program), ", ".join(map(short, targets)), say_counts(dict(changes))]
        for (program, changes), targets in ordered
    ]
    if not rows:
        return "No program's launches changed.\n"
    return fold_rows(rows, ["program", "targets", "launches"], tabulate, fold)


def _weigh(changes: Iterable[tuple[str, int]]) -> int:
    return sum(abs(number) for _, number in changes)


def say_counts(changes: Mapping[str, int]) -> str:
    """Return changes of counts as HTML, additions first: `+2 fusion kLoop, -1 reduce`."""
    ordered = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(
        f"{'+' if number > 0 else '&minus;'}{abs(number)} {markdown.code(name)}" for name, number in ordered
    )


def tabulate_passes(drift: Drift, tabulate: Tabulate) -> str:
    """Return a table of the renamed, new and removed passes for each kind of target, or a sentence without any."""
    rows = []
    for kind, name in KINDS.items():
        if kind not in drift.old.passes or kind not in drift.new.passes:
            continue
        passes = drift.passes(kind)
        if passes.total:
            rows.append([name, *_format_passes(passes)])
    if not rows:
        return "The same passes run under both releases.\n"
    return tabulate(["target", "renamed", "new", "removed"], rows)


def _format_passes(passes: PassDrift) -> tuple[str, str, str]:
    renamed = ", ".join(f"{markdown.code(old)} is now {markdown.code(new)}" for old, new in passes.renamed)
    return renamed or "none", format_names(passes.added), format_names(passes.gone)


def format_names(names: Sequence[str]) -> str:
    """Return names as HTML code, separated by commas, or `none`."""
    return ", ".join(map(markdown.code, names)) or "none"


def tabulate_bytes(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return a table of the programs whose memory or traffic changed, the largest change first, or a sentence."""
    ordered = sorted(
        (
            (abs(change.after - change.before), what, change)
            for what, of in NUMBERS.items()
            for change in drift.numbers(of)
        ),
        key=lambda item: (-item[0], item[1], item[2].program, item[2].target),
    )
    rows = [
        [
            markdown.code(change.program),
            short(change.target),
            what,
            f"{format_bytes(change.before)} to {format_bytes(change.after)}",
        ]
        for _, what, change in ordered
    ]
    if not rows:
        return "No program's temporary memory or main-memory traffic changed.\n"
    return fold_rows(rows, ["program", "target", "kind of bytes", "change"], tabulate, fold)


def tabulate_code(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return a table of programs with the same launches but mostly different code, or a sentence if there are none."""
    rows = [
        [
            markdown.code(change.program),
            short(change.target),
            f"{100 * change.share:.0f} %",
            _format_loops(*change.deepest),
            say_counts(dict(sorted(change.operations.items(), key=lambda item: (-abs(item[1]), item[0]))[:OPERATIONS]))
            or "none",
        ]
        for change in drift.rewritten
    ]
    if not rows:
        return "No program with the same launches has mostly different code.\n"
    return fold_rows(
        rows, ["program", "target", "different code", "innermost loop", "most changed operations"], tabulate, fold
    )


def _format_loops(before: int, after: int) -> str:
    """Return the depth of the innermost loop before and after an update in words, once if equal; `none` without one."""
    depths = [f"depth {depth}" if depth else "none" for depth in (before, after)]
    return depths[0] if before == after else " to ".join(depths)


def tabulate_forms(drift: Drift, tabulate: Tabulate) -> str:
    """Return a table of the changes in the jaxprs and the StableHLO of the programs."""
    jaxprs, modules = drift.reprinted
    traced: Counter[str] = Counter()
    for changes in drift.traced.values():
        traced.update(changes)
    lowered: Counter[str] = Counter()
    for changes in {program: changes for (program, _), changes in drift.lowered.items()}.values():
        lowered.update(changes)
    rows = [
        [form, str(len(texts)), _format_set(names), _format_sets(members), _format_counts(counts)]
        for form, texts, names, members, counts in (
            ("jaxpr", jaxprs, drift.primitives, drift.parameters, traced),
            ("StableHLO", modules, drift.operations, drift.attributes, lowered),
        )
    ]
    header = ["form", "changed texts", "new and removed names", "parameters or attributes", "counts in all programs"]
    return tabulate(header, rows)


def _format_counts(changes: Counter[str]) -> str:
    return say_counts({name: number for name, number in changes.items() if number}) or "none"


def _format_set(change: SetChange) -> str:
    parts = [f"new: {format_names(change.added)}"] if change.added else []
    parts += [f"removed: {format_names(change.gone)}"] if change.gone else []
    return "; ".join(parts) or "none"


def _format_sets(changes: Mapping[str, SetChange]) -> str:
    """Return names with the members that each gained and lost: `reduce_sum +out_sharding`."""
    descriptions = []
    for name, change in changes.items():
        signs = [f"+{member}" for member in change.added] + [f"-{member}" for member in change.gone]
        descriptions.append(markdown.code(f"{name} {' '.join(signs)}"))
    return ", ".join(descriptions) or "none"


def tabulate_names(drift: Drift, tabulate: Tabulate, fold: Fold) -> str:
    """Return a table of the removed public names by module, or a sentence, and a folded table of the new ones."""
    modules = drift.names.items()
    removals = [[markdown.code(module), format_names(change.gone)] for module, change in modules if change.gone]
    additions = [[markdown.code(module), format_names(change.added)] for module, change in modules if change.added]
    table = tabulate(["module", "removed names"], removals) if removals else "No public name was removed.\n"
    number = sum(len(change.added) for change in drift.names.values())
    new = fold(plural(number, "new name"), tabulate(["module", "new names"], additions)) if additions else ""
    return f"{table}\n{new}" if new else table


def tabulate_failures(drift: Drift, tabulate: Tabulate) -> str:
    """Return a table of the programs that compile under only one of the two releases, or an empty string."""
    rows = [
        [markdown.code(program), short(target), when, markdown.escape(error)]
        for when, failures in (("no longer compiles", drift.newly_failing), ("compiles", drift.newly_compiling))
        for (program, target), error in failures.items()
    ]
    return tabulate(["program", "target", "under the newer release", "error"], rows) if rows else ""


def tabulate_disagreements(
    disagreements: Sequence[Disagreement], place: Callable[[Disagreement], str], tabulate: Tabulate, fold: Fold
) -> str:
    """Return a table of the sentences on the site's pages that are false under a release; `place` returns HTML."""
    rows = [
        [place(disagreement), markdown.escape(disagreement.sentence), markdown.escape(disagreement.error)]
        for disagreement in disagreements
    ]
    return fold_rows(rows, ["place", "sentence", "error"], tabulate, fold)


def fold_by_page(disagreements: Sequence[Disagreement], fold: Fold) -> str:
    """Return the sentences that are false under a release, as Markdown with a fold for each page."""
    pages: dict[str, list[Disagreement]] = {}
    for disagreement in disagreements:
        pages.setdefault(disagreement.page, []).append(disagreement)
    parts = []
    for page, failures in pages.items():
        checks = sum(disagreement.what == "check" for disagreement in failures)
        others = len(failures) - checks
        counts = [plural(checks, "check")] if checks else []
        counts += [plural(others, "value or block", "values or blocks")] if others else []
        rows = []
        for failure in failures:
            # A check is shown by its title, and a value or block by its code.
            show = markdown.escape if failure.what == "check" else markdown.code
            rows.append([show(failure.sentence), markdown.code(failure.error)])
        table = markdown.table(["check, value or block, as it was recorded", "result"], rows)
        address = page.removeprefix("docs/")
        name = address.removesuffix(".md")
        parts.append(fold(f"{name}: {', '.join(counts)}", f"These fail on [this page]({address}):\n\n{table}"))
    return "\n".join(parts)


def list_versions(release: Release) -> str:
    """Return the names and versions of the packages that a release was measured with, separated by commas."""
    return ", ".join(f"{name} {version}" for name, version in release.versions.items())
