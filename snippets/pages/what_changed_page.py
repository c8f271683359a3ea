"""Lists, tables and checks of the page about what releases of JAX changed."""

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
"""Each kind of target, to the one that stands for it here."""

LIBRARY = "fusion __ynn_fusion"
SPLITTER = "splitk-rewriter"


def read_libtpu_pin() -> str:
    """Return the release of libtpu that `jax[tpu]` asks for, without its last number."""
    pins = (re.match(r"libtpu==([\d.]+)\.\*", requirement) for requirement in requires("jax") or ())
    return next(pin[1] for pin in pins if pin)


def find_share(step: Drift, target: str) -> float:
    """Return the share of a target's programs whose launches a step changed."""
    return len(step.changed_programs(target)) / step.count(target) if step.count(target) else 0


def average_share(steps: Sequence[Drift], target: str) -> int:
    """Return how many programs in a hundred an average step changed on a target."""
    changed = sum(len(step.changed_programs(target)) for step in steps)
    return round(100 * changed / sum(step.count(target) for step in steps))


def link_update(step: Drift) -> str:
    """Return the two releases of a step as a link to the section of the newer one."""
    return f"[{step.old.jax} to {step.new.jax}](#{release_tables.section_id(step.new)})"


def _name_step(step: Drift) -> str:
    return f"{step.old.jax} to {step.new.jax}"


def _say_disagreements(release: Release) -> str:
    """Return how many checks of the site do not hold under a release, and how much could not be asked."""
    counts = release.pages.values()
    checks, lost = (sum(page.get(part, 0) for page in counts) for part in ("check", "not run"))
    pieces = sum(page.get(part, 0) for page in counts for part in ("block", "value", "check"))
    false = sum(disagreement.what == "check" for disagreement in release.disagreements)
    return (
        f"of {plural(checks, 'check')} {false:,} do not hold under {release.jax}, and {lost:,} of"
        f" {pieces:,} blocks, values and checks were not reached, since something above them failed"
    )


def list_worst(steps: Sequence[Drift]) -> Iterator[str]:
    """Yield for each target the step that changed most, then the changed texts, names and failures, as list items."""
    newest = steps[-1]
    for target in USUAL:
        step = max(steps, key=lambda step: find_share(step, target))
        yield (
            f"* **{title(target)}** changed most in {link_update(step)}: {len(step.changed_programs(target))} of"
            f" {step.count(target)} programs have changed launches."
        )
    jaxprs = {step: len(step.reprinted[0]) for step in steps}
    most = max(steps, key=lambda step: jaxprs[step])
    yield (
        f"* **The text of a jaxpr** changed for {plural(jaxprs[newest], 'program')} with the newest update, and for"
        f" {plural(jaxprs[most], 'program')} with {link_update(most)}: a test that compares it fails with each of them."
    )
    gone = [sum(len(change.gone) for change in step.names.values()) for step in steps]
    yield (
        f"* **Public names** were removed: {sum(gone)} in all these updates together, {gone[-1]}"
        " in the newest; each section below names them."
    )
    if newest.old.pages:
        yield (
            f"* **This site** is of {newest.new.jax}: {_say_disagreements(newest.old)}"
            f" ([which](#{release_tables.section_id(newest.new)}-site))."
        )
    broken = sum(len(step.newly_failing) for step in steps)
    pairs = sum(len(step.pairs) for step in steps)
    yield f"* **Programs that no longer compile** after an update: {plural(broken, 'case')} of {pairs:,}."


def show_update(step: Drift) -> str:
    """Return how many programs and passes of each target a step changed, as a table."""
    passes = {target: step.passes(kind) for kind, target in KINDS.items()}
    return markdown.cards(
        ["target", "programs", "with changed launches", "passes renamed, new, removed"],
        [
            (
                title(target),
                str(step.count(target)),
                str(len(step.changed_programs(target))),
                ", ".join(str(len(names)) for names in (changed.renamed, changed.added, changed.gone)),
            )
            for target, changed in passes.items()
        ],
    )


def sum_outcomes(
    releases: Sequence[Release], targets: Sequence[str], count: Callable[[ReleaseOutcome], int]
) -> dict[str, list[int]]:
    """Return for each target a sum for each release, over the programs that compile under every one of them."""
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
    """Yield for each target the sorts of launches whose number changed most, as list items."""
    for target in USUAL:
        ordered = sorted(whole.sorts(target).items(), key=lambda item: (-abs(item[1]), item[0]))[:most]
        counts = release_tables.write_counts(dict(ordered)) or "nothing"
        yield f"* **{title(target)}**, from {whole.old.jax} to {whole.new.jax}: {counts}."


def count_sort(release: Release, sort: str) -> int:
    """Return how many launches of a sort all programs make on the CPU under a release."""
    outcomes = (program.outcomes["cpu"] for program in release.programs.values() if "cpu" in program.outcomes)
    return sum(outcome.launches.get(sort, 0) for outcome in outcomes)


def list_split(release: Release) -> list[str]:
    """Return the programs whose contracting dimension is split for the H100 under a release."""
    return [
        name
        for name, program in release.programs.items()
        if "h100" in program.outcomes and SPLITTER in program.outcomes["h100"].changed
    ]


def measure_split(before: Release, after: Release) -> str:
    """Return how many programs were split under each of two releases, and the traffic of a matmul under each."""
    old, new = (format_bytes(release.programs["product"].outcomes["h100"].traffic) for release in (before, after))
    return (
        f"It changed {plural(len(list_split(before)), 'program')} under {before.jax} and"
        f" {plural(len(list_split(after)), 'program')} under"
        f" {after.jax}; compiled without a GPU, `product` moves {old} through main memory under the one and"
        f" {new} under the other."
    )


def count_block_kernels(release: Release) -> dict[str, int | None]:
    """Return the kernels of the transformer block by target, None where it does not compile."""
    outcomes = {target: release.programs["transformer_block"].outcomes.get(target) for target in USUAL}
    return {
        target: None if outcome is None or outcome.failed else outcome.count("kernel")
        for target, outcome in outcomes.items()
    }


def count_temporaries(outcome: ReleaseOutcome) -> int:
    """Return the bytes of temporaries of a program."""
    return outcome.memory.get("temporaries", 0)


def show_temporaries(steps: Sequence[Drift]) -> str:
    """Return the programs whose temporaries changed most, and how many shrank and grew with each step, as Markdown."""
    moved = sorted(
        ((step, change) for step in steps for change in step.numbers(count_temporaries)),
        key=lambda pair: pair[1].after - pair[1].before,
    )
    items = "".join(
        f"* What {verb}: `{change.program}` on {title(change.target)}, {format_bytes(change.before)} of temporaries"
        f" before {link_update(step)} and {format_bytes(change.after)} after.\n"
        for verb, (step, change) in (("saved most", moved[0]), ("costs most more", moved[-1]))
    )
    rows = [
        (_name_step(step), *(", ".join(str(len(half)) for half in split_changes(step, target)) for target in USUAL))
        for step in reversed(steps)
    ]
    table = markdown.cards(["update", *(f"{title(target)}: less, more" for target in USUAL)], rows)
    return f"{items}\n{table}"


def split_changes(step: Drift, target: str = "") -> tuple[list[Change], list[Change]]:
    """Return the programs that need fewer bytes of temporaries after a step, and those that need more.

    Args:
        step: The step.
        target: One target; all of them where it is empty.
    """
    changes = [change for change in step.numbers(count_temporaries) if target in {"", change.target}]
    less = [change for change in changes if change.after < change.before]
    return less, [change for change in changes if change not in less]


def show_rewritten(steps: Sequence[Drift], targets: Sequence[str]) -> str:
    """Return after each step how many of the programs that launch the same have other code, as a table."""
    rows = [
        (
            _name_step(step),
            *(f"{count_rewritten(step, target)} of {count_coded(step, target)}" for target in targets),
        )
        for step in reversed(steps)
    ]
    return markdown.table(["update", *map(title, targets)], rows, numbers=(1, 2))


def count_rewritten(step: Drift, target: str) -> int:
    """Return how many of the programs that launch the same on a target have other code."""
    return sum(change.target == target for change in step.rewritten)


def count_coded(step: Drift, target: str) -> int:
    """Return how many programs launch the same on a target and have code that is known."""
    return sum(name == target for _, name in step.coded)


def show_libtpu(steps: Sequence[Drift]) -> str:
    """Return what each release of libtpu alone changed, the newest first, as sections."""
    parts = [release_tables.update_matrix(steps, steps[-1].targets)]
    for step in reversed(steps):
        name = release_tables.name_update(step)
        parts += [
            f"\n### {name} {{ #{release_tables.section_id(step.new, 'libtpu')} }}\n",
            release_tables.tabulate_launches(step, markdown.cards, markdown.fold),
            release_tables.tabulate_passes(step, markdown.cards),
            release_tables.tabulate_bytes(step, markdown.cards, markdown.fold),
        ]
    return "\n".join(parts)


def show_releases(steps: Sequence[Drift]) -> str:
    """Return what each release changed, the newest first, as sections."""
    return "\n".join(part for step in reversed(steps) for part in _list_section(step))


def _list_section(step: Drift) -> Iterator[str]:
    name = release_tables.section_id(step.new)
    yield f"\n## JAX {step.new.jax} {{ #{name} }}\n"
    yield f"Against {step.old.jax}. Compiled with {release_tables.list_versions(step.new)}.\n"
    yield "".join(
        f"* {title(target)}: {len(step.changed_programs(target))} of {plural(step.count(target), 'program')}"
        " have changed launches.\n"
        for target in step.targets
    )
    yield f"### Changed launches {{ #{name}-launches }}\n"
    yield release_tables.tabulate_launches(step, markdown.cards, markdown.fold)
    if failed := release_tables.tabulate_failures(step, markdown.cards):
        yield markdown.fold("What compiles under one of the two alone", failed)
    yield f"### Passes {{ #{name}-passes }}\n"
    yield release_tables.tabulate_passes(step, markdown.cards)
    yield f"### Code of programs that launch the same {{ #{name}-code }}\n"
    yield release_tables.tabulate_code(step, markdown.cards, markdown.fold)
    yield f"### Memory and traffic {{ #{name}-memory }}\n"
    yield release_tables.tabulate_bytes(step, markdown.cards, markdown.fold)
    yield f"### Jaxpr and StableHLO {{ #{name}-forms }}\n"
    yield release_tables.tabulate_forms(step, markdown.cards)
    yield f"### Public names of JAX {{ #{name}-names }}\n"
    yield release_tables.tabulate_names(step, markdown.cards, markdown.fold)
    if step.old.pages:
        yield f"### What this site says, under {step.old.jax} {{ #{name}-site }}\n"
        pages = plural(len(step.old.pages), "page")
        yield f"{pages} of this site were run under {step.old.jax}: {_say_disagreements(step.old)}.\n"
        yield release_tables.fold_by_page(step.old.disagreements, markdown.fold)
