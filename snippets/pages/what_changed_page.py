"""Lists and tables, from recorded data, of the page about the changes between releases of JAX."""

from __future__ import annotations

import re
from importlib.metadata import requires
from typing import TYPE_CHECKING

from chapters import release_tables
from xla_inspect.compilation import USUAL
from xla_inspect.plural import plural
from xla_inspect.report import format_bytes, markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.releases import Change, Drift, Release, ReleaseOutcome

KINDS = {"cpu": "cpu", "gpu": "h100", "tpu": "tpu-v5e"}
"""The target whose counts the page shows for each kind of compiler."""

TABLES = (markdown.cards, markdown.fold)
"""The functions that format tables and folds as HTML and Markdown, which this page passes to `release_tables`."""
LIBRARY = "fusion __ynn_fusion"
SPLITTER = "splitk-rewriter"


def read_libtpu_pin() -> str:
    """Return the release of libtpu that `jax[tpu]` requires, without its last number."""
    pins = (re.match(r"libtpu==([\d.]+)\.\*", requirement) for requirement in requires("jax") or ())
    return next(pin[1] for pin in pins if pin)


def find_share(step: Drift, target: str) -> float:
    """Return the share, from 0 to 1, of a target's programs whose launches an update (a step) changed."""
    return len(step.changed_programs(target)) / step.count(target) if step.count(target) else 0


def average_share(steps: Sequence[Drift], target: str) -> int:
    """Return the percentage of programs whose launches an average update (a step) changed on a target."""
    total = sum(len(step.changed_programs(target)) for step in steps)
    return round(100 * total / sum(step.count(target) for step in steps))


def link_update(step: Drift) -> str:
    """Return the two releases of an update (a step) as a Markdown link to the section of the newer release."""
    return f"[{step.old.jax} to {step.new.jax}](#{release_tables.section_id(step.new)})"


def _name_step(step: Drift) -> str:
    return f"{step.old.jax} to {step.new.jax}"


def _describe_disagreements(release: Release) -> str:
    """Return words for how many of the site's checks failed under a release, as recorded, and how many did not run."""
    counts = release.pages.values()
    checks, skipped = (sum(page.get(part, 0) for page in counts) for part in ("check", "not run"))
    pieces = sum(page.get(part, 0) for page in counts for part in ("block", "value", "check"))
    false = sum(disagreement.what == "check" for disagreement in release.disagreements)
    return (
        f"{false:,} of {plural(checks, 'check')} fail, and {skipped:,} of {pieces:,} blocks,"
        " values and checks do not run because an earlier block of their page fails"
    )


def list_worst(steps: Sequence[Drift]) -> Iterator[str]:
    """Yield Markdown list items: the update that changed most on each target, and changed texts, names and failures."""
    newest = steps[-1]
    for target in USUAL:
        step = max(steps, key=lambda step: find_share(step, target))
        yield (
            f"* **{title(target)}**: the update {link_update(step)} changed the launches of the largest share of"
            f" programs, {len(step.changed_programs(target))} of {step.count(target)}."
        )
    jaxprs = {step: len(step.reprinted[0]) for step in steps}
    most = max(steps, key=lambda step: jaxprs[step])
    yield (
        f"* **The printed jaxpr** changed for {plural(jaxprs[newest], 'program')} in the newest update, and for"
        f" {plural(jaxprs[most], 'program')} in {link_update(most)}, the highest number of any update; a test that"
        " compares this text fails for each of them."
    )
    removals = [sum(len(change.gone) for change in step.names.values()) for step in steps]
    yield (
        f"* **Public names**: these updates removed {plural(sum(removals), 'name')} in total, and the newest update"
        f" removed {removals[-1] or 'none'}; the section of each release lists them."
    )
    if newest.old.pages:
        yield (
            f"* **This site** is built with JAX {newest.new.jax}; under {newest.old.jax},"
            f" {_describe_disagreements(newest.old)} ([the list](#{release_tables.section_id(newest.new)}-site))."
        )
    broken, pairs = sum(len(step.newly_failing) for step in steps), sum(len(step.pairs) for step in steps)
    yield (
        f"* **Programs that no longer compile** after an update: {plural(broken, 'case')} among {pairs:,} combinations"
        " of a program, a target and an update."
    )


def show_update(step: Drift) -> str:
    """Return an HTML table of the number of programs and passes that an update (a step) changed on each target."""
    passes = {target: step.passes(kind) for kind, target in KINDS.items()}
    return markdown.cards(
        ["target", "programs", "programs with changed launches", "renamed, new and removed passes"],
        [
            (
                title(target),
                str(step.count(target)),
                str(len(step.changed_programs(target))),
                ", ".join(str(len(names)) for names in (drift.renamed, drift.added, drift.gone)),
            )
            for target, drift in passes.items()
        ],
    )


def sum_outcomes(
    releases: Sequence[Release], targets: Sequence[str], count: Callable[[ReleaseOutcome], int]
) -> dict[str, list[int]]:
    """Return by target the sum of `count` under each release, over the programs that compile under every release."""
    return {
        target: [
            sum(count(release.programs[name].outcomes[target]) for name in _list_shared(releases, target))
            for release in releases
        ]
        for target in targets
    }


def _list_shared(releases: Sequence[Release], target: str) -> list[str]:
    return [
        name
        for name in releases[-1].programs
        if all(
            name in release.programs and (outcome := release.programs[name].outcomes.get(target)) and not outcome.failed
            for release in releases
        )
    ]


def list_sorts(whole: Drift, most: int = 5) -> Iterator[str]:
    """Yield Markdown list items with the `most` sorts of launches whose number changed most on each target."""
    for target in USUAL:
        ordered = sorted(whole.sorts(target).items(), key=lambda item: (-abs(item[1]), item[0]))[:most]
        counts = release_tables.say_counts(dict(ordered)) or "nothing"
        span = f"from {whole.old.jax} to {whole.new.jax}"
        yield f"* **{title(target)}**: {span}, the numbers of these launches changed most: {counts}."


def count_sort(release: Release, sort: str) -> int:
    """Return the number of launches of a sort, such as `LIBRARY`, of all programs on the CPU under a release."""
    outcomes = (program.outcomes["cpu"] for program in release.programs.values() if "cpu" in program.outcomes)
    return sum(outcome.launches.get(sort, 0) for outcome in outcomes)


def list_split(release: Release) -> list[str]:
    """Return the names of the programs that the pass `SPLITTER` changes for the H100 under a release."""
    return [
        name
        for name, program in release.programs.items()
        if "h100" in program.outcomes and SPLITTER in program.outcomes["h100"].changed
    ]


def measure_split(before: Release, after: Release) -> str:
    """Return sentences on the number of split programs, and one matmul's traffic, under each of two releases."""
    old, new = (format_bytes(release.programs["product"].outcomes["h100"].traffic) for release in (before, after))
    return (
        f"`{SPLITTER}` changes {plural(len(list_split(before)), 'program')} under {before.jax} and"
        f" {plural(len(list_split(after)), 'program')} under {after.jax}. Compiled without a GPU, the program `product`"
        f" moves {old} through main memory under {before.jax} and {new} under {after.jax}."
    )


def count_block_kernels(release: Release) -> dict[str, int | None]:
    """Return the recorded number of kernels of the transformer block on each target, None if it did not compile."""
    outcomes = {target: release.programs["transformer_block"].outcomes.get(target) for target in USUAL}
    return {
        target: None if outcome is None or outcome.failed else outcome.count("kernel")
        for target, outcome in outcomes.items()
    }


def count_temporaries(outcome: ReleaseOutcome) -> int:
    """Return the recorded bytes of temporary memory of a program on one target, 0 if they are unknown."""
    return outcome.memory.get("temporaries", 0)


def show_temporaries(steps: Sequence[Drift]) -> str:
    """Return the largest changes of temporary memory, and a table of shrunk and grown programs, as Markdown."""
    moved = sorted(
        ((step, change) for step in steps for change in step.numbers(count_temporaries)),
        key=lambda pair: pair[1].after - pair[1].before,
    )
    items = "".join(
        f"* **{label}**: the program `{change.program}` on {title(change.target)} needs {format_bytes(change.before)}"
        f" of temporary memory before the update {link_update(step)} and {format_bytes(change.after)} after it.\n"
        for label, (step, change) in (("Largest saving", moved[0]), ("Largest increase", moved[-1]))
    )
    rows = [
        (_name_step(step), *(", ".join(str(len(half)) for half in split_changes(step, target)) for target in USUAL))
        for step in reversed(steps)
    ]
    table = markdown.cards(["update", *(f"{title(target)}: less memory, more memory" for target in USUAL)], rows)
    return f"{items}\n{table}"


def split_changes(step: Drift, target: str = "") -> tuple[list[Change], list[Change]]:
    """Return the programs that need less temporary memory after an update, and those that need more, as changes.

    An empty target selects all targets.
    """
    changes = [change for change in step.numbers(count_temporaries) if target in {"", change.target}]
    less = [change for change in changes if change.after < change.before]
    return less, [change for change in changes if change not in less]


def show_rewritten(steps: Sequence[Drift], targets: Sequence[str]) -> str:
    """Return a Markdown table of the number of programs with the same launches but mostly different code, by update."""
    rows = [
        (
            _name_step(step),
            *(f"{count_rewritten(step, target)} of {count_coded(step, target)}" for target in targets),
        )
        for step in reversed(steps)
    ]
    return markdown.table(["update", *map(title, targets)], rows, numbers=(1, 2))


def count_rewritten(step: Drift, target: str) -> int:
    """Return the number of programs whose launches an update kept but whose code it mostly changed on a target."""
    return sum(change.target == target for change in step.rewritten)


def count_coded(step: Drift, target: str) -> int:
    """Return the number of programs whose launches an update kept on a target, and whose code both releases record."""
    return sum(name == target for _, name in step.coded)


def show_libtpu(steps: Sequence[Drift]) -> str:
    """Return a matrix of updates of libtpu alone, and a Markdown section with tables for each, the newest first."""
    parts = [release_tables.update_matrix(steps, steps[-1].targets)]
    for step in reversed(steps):
        name = release_tables.name_update(step)
        parts += [
            f"\n### {name} {{ #{release_tables.section_id(step.new, 'libtpu')} }}\n",
            _fold_table("Programs with changed launches", release_tables.tabulate_launches(step, *TABLES)),
            _fold_table("Renamed, new and removed passes", release_tables.tabulate_passes(step, markdown.cards)),
            _fold_table("Changed memory and traffic", release_tables.tabulate_bytes(step, *TABLES)),
        ]
    return "\n".join(parts)


def _fold_table(summary: str, text: str) -> str:
    """Return a table folded under a summary; return a sentence that replaces an empty table unchanged."""
    return markdown.fold(summary, text) if text.startswith(("<", "|")) else text


def show_releases(steps: Sequence[Drift]) -> str:
    """Return a Markdown section with the tables of each JAX release's changes, the newest first, as one text."""
    return "\n".join(part for step in reversed(steps) for part in _list_section(step))


def _list_section(step: Drift) -> Iterator[str]:
    name = release_tables.section_id(step.new)
    yield f"\n## JAX {step.new.jax} {{ #{name} }}\n"
    yield f"{_describe_launches(step)}\n"
    yield markdown.fold(f"The packages of JAX {step.new.jax}", release_tables.list_versions(step.new))
    for heading, place, summary, text in (
        ("Changed launches", "launches", "Changed programs", release_tables.tabulate_launches(step, *TABLES)),
        ("Passes", "passes", "Renamed, new and removed passes", release_tables.tabulate_passes(step, markdown.cards)),
        ("Different code", "code", "Programs with the same launches", release_tables.tabulate_code(step, *TABLES)),
        ("Memory and traffic", "memory", "Changed bytes", release_tables.tabulate_bytes(step, *TABLES)),
        ("Jaxpr and StableHLO", "forms", "Changed texts", release_tables.tabulate_forms(step, markdown.cards)),
        ("Public names of JAX", "names", "Removed names", release_tables.tabulate_names(step, *TABLES)),
    ):
        yield f"### {heading} {{ #{name}-{place} }}\n"
        yield _fold_table(summary, text)
    if failures := release_tables.tabulate_failures(step, markdown.cards):
        yield markdown.fold("Programs that compile under only one of the two releases", failures)
    if step.old.pages:
        yield f"### This site's checks under {step.old.jax} {{ #{name}-site }}\n"
        pages = plural(len(step.old.pages), "page")
        yield f"{pages} of this site ran under {step.old.jax}; {_describe_disagreements(step.old)}.\n"
        lists = release_tables.fold_by_page(step.old.disagreements, markdown.fold)
        yield markdown.fold("The failures on each page", lists) if lists else ""


def _describe_launches(step: Drift) -> str:
    """Return a sentence with the number of programs whose launches an update changed on each target."""
    affected = [target for target in step.targets if step.changed_programs(target)]
    counts = [f"{len(step.changed_programs(target))} of {step.count(target)} on {title(target)}" for target in affected]
    compared = f"Compared with {step.old.jax}, JAX {step.new.jax} changes launches"
    if not counts:
        return f"{compared} of no program."
    text = " and ".join(filter(None, (", ".join(counts[:-1]), counts[-1])))
    others = len(step.targets) - len(counts)
    rest = f"; it changes none on the other {f'{others} targets' if others > 1 else 'target'}" if others else ""
    return f"{compared} of some programs: {text}{rest}."
