"""What changed between releases, as Markdown for a pull request."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from chapters import release_tables as shown
from xla_inspect.releases import Drift
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.releases import Disagreement, Release


def compare_all(releases: Sequence[Release], bad: Mapping[str, str]) -> str:
    """Return what changed from each release to the next, the newest step first, and which could not be measured.

    Args:
        releases: The releases, the oldest first.
        bad: Versions that were asked for and could not be measured, with the reason.
    """
    parts = [f"**{version} was not measured**: {reason}.\n" for version, reason in bad.items()]
    steps = [Drift(old, new) for old, new in itertools.pairwise(releases)]
    parts += [describe_step(step) for step in reversed(steps)]
    if not steps and not bad:
        names = ", ".join(release.jax for release in releases) or "none"
        parts.append(f"There is nothing to compare with: measured is {names}.\n")
    return "\n".join(parts)


def describe_step(step: Drift) -> str:
    """Return one step: what a reviewer needs first, the sentences of the site that became false."""
    parts = [f"## {shown.name_update(step)}\n", f"{shown.list_versions(step.new)}.\n"]
    parts.append("".join(f"* {line}\n" for line in summarize_step(step)))
    became = list_became_false(step)
    if step.new.pages:
        parts.append(f"### Sentences on the site that became false: {len(became)}\n")
        if became:
            parts.append(shown.tabulate_disagreements(became, format_place, markdown.table, fold))
    for heading, text in (
        ("Launches", shown.tabulate_launches(step, markdown.table, fold)),
        ("Passes", shown.tabulate_passes(step, markdown.table)),
        ("Code of programs that launch the same", shown.tabulate_code(step, markdown.table, fold)),
        ("Memory", shown.tabulate_bytes(step, markdown.table, fold)),
        ("Jaxpr and StableHLO", shown.tabulate_forms(step, markdown.table)),
        ("Public names", shown.tabulate_names(step, markdown.table, fold)),
        ("Compiles under one of the two alone", shown.tabulate_failures(step, markdown.table)),
    ):
        if text:
            parts.append(f"### {heading}\n\n{text}")
    return "\n".join(parts)


def summarize_step(step: Drift) -> list[str]:
    """Return the step in a few lines."""
    lines = [
        f"{title(target)}: {len(step.changed_programs(target))} of {step.count(target)} programs have changed launches"
        for target in step.targets
    ]
    gone = [f"`{module}.{name}`" for module, change in step.names.items() for name in change.gone]
    if gone:
        named = f"{', '.join(gone[:12])}{', ...' if len(gone) > 12 else ''}"  # noqa: PLR2004 - as many as a line holds
        lines.append(f"{len(gone)} public names were removed: {named}")
    return lines


def list_became_false(step: Drift) -> tuple[Disagreement, ...]:
    """Return what of the pages does not hold under the newer release and did under the older."""
    known = {(disagreement.page, disagreement.sentence) for disagreement in step.old.disagreements}
    return tuple(
        disagreement
        for disagreement in step.new.disagreements
        if (disagreement.page, disagreement.sentence) not in known
    )


def format_place(disagreement: Disagreement) -> str:
    """Return page and line."""
    return f"`{disagreement.page}:{disagreement.line}`"


def fold(line: str, body: str) -> str:
    """Return a fold that GitHub shows."""
    return f"<details><summary>{markdown.escape(line)}</summary>\n\n{body}\n</details>\n"
