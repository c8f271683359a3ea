"""Summaries of the changes between releases, as Markdown for a pull request."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from chapters import release_tables as shown
from xla_inspect.plural import plural
from xla_inspect.releases import Drift
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.releases import Disagreement, Release


def compare_all(releases: Sequence[Release], bad: Mapping[str, str]) -> str:
    """Return Markdown about the changes from each release to the next, the newest first, and about unmeasured releases.

    Args:
        releases: The releases, the oldest first.
        bad: The requested versions that could not be measured, with the reason.
    """
    parts = [f"**{version} was not measured**: {reason}.\n" for version, reason in bad.items()]
    steps = [Drift(old, new) for old, new in itertools.pairwise(releases)]
    parts += [describe_step(step) for step in reversed(steps)]
    if not steps and not bad:
        names = ", ".join(release.jax for release in releases) or "none"
        parts.append(f"There are no two releases to compare; the measured releases are: {names}.\n")
    return "\n".join(parts)


def describe_step(step: Drift) -> str:
    """Return Markdown about one step: counts, the sentences of the site that became false, and tables of changes."""
    parts = [f"## {shown.name_update(step)}\n", f"{shown.list_versions(step.new)}.\n"]
    parts.append("".join(f"* {line}\n" for line in summarize_step(step)))
    sentences = list_became_false(step)
    if step.new.pages:
        parts.append(f"### Sentences on the site that became false: {len(sentences)}\n")
        if sentences:
            parts.append(shown.tabulate_disagreements(sentences, format_place, markdown.table, fold))
    for heading, text in (
        ("Launches", shown.tabulate_launches(step, markdown.table, fold)),
        ("Passes", shown.tabulate_passes(step, markdown.table)),
        ("Code of programs with the same launches", shown.tabulate_code(step, markdown.table, fold)),
        ("Memory", shown.tabulate_bytes(step, markdown.table, fold)),
        ("Jaxpr and StableHLO", shown.tabulate_forms(step, markdown.table)),
        ("Public names", shown.tabulate_names(step, markdown.table, fold)),
        ("Programs that compile under only one of the two releases", shown.tabulate_failures(step, markdown.table)),
    ):
        if text:
            parts.append(f"### {heading}\n\n{text}")
    return "\n".join(parts)


def summarize_step(step: Drift) -> list[str]:
    """Return a few lines about the changed launches and the removed names."""
    lines = [
        f"{title(target)}: {len(step.changed_programs(target))} of {plural(step.count(target), 'program')}"
        f" {'has' if step.count(target) == 1 else 'have'} changed launches"
        for target in step.targets
    ]
    removals = [f"`{module}.{name}`" for module, change in step.names.items() for name in change.gone]
    if removals:
        names = f"{', '.join(removals[:12])}{', ...' if len(removals) > 12 else ''}"  # noqa: PLR2004 - as many as a line holds
        lines.append(
            f"{plural(len(removals), 'public name')} {'was' if len(removals) == 1 else 'were'} removed: {names}"
        )
    return lines


def list_became_false(step: Drift) -> tuple[Disagreement, ...]:
    """Return the sentences of the pages that are false under the newer release but not under the older one."""
    earlier = {(disagreement.page, disagreement.sentence) for disagreement in step.old.disagreements}
    return tuple(
        disagreement
        for disagreement in step.new.disagreements
        if (disagreement.page, disagreement.sentence) not in earlier
    )


def format_place(disagreement: Disagreement) -> str:
    """Return the page and the line of a sentence."""
    return f"`{disagreement.page}:{disagreement.line}`"


def fold(line: str, body: str) -> str:
    """Return a fold in the HTML that GitHub renders."""
    return f"<details><summary>{markdown.escape(line)}</summary>\n\n{body}\n</details>\n"
