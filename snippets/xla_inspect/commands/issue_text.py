"""The text of an issue about a change between two releases of JAX: reproducer, versions and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.questions.since import COLUMNS
from xla_inspect.report import markdown
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.questions.since import ReleaseChange, ReleaseHistory, ReleaseRow

_MOST = 120
"""The number of lines of a difference that an issue contains."""


def write_issue(history: ReleaseHistory, source: str, command: str) -> str:
    """Return the Markdown text of an issue: changes, a table of the releases, the file, versions and differences.

    Args:
        history: The answer of `xla-inspect since`.
        source: The text of the user's file, or an empty string if there is none.
        command: The subject and options, as on the command line.
    """
    return "\n".join(_write(history, source, command))


def _write(history: ReleaseHistory, source: str, command: str) -> Iterator[str]:
    where = title(history.target)
    if not history.changes:
        span = f"{history.first} and {history.last}"
        yield f"# {history.program} on {where}: no significant difference between JAX {span}\n"
    else:
        first = history.changes[0]
        what = f"{first.question} {first.old} -> {first.new}"
        yield f"# {history.program} on {where}: {what} since JAX {first.after}\n"
    for change in history.changes:
        yield f"{change.tell()}\n"
    yield _tabulate(history)
    if source:
        yield f"## Reproducer\n\n{markdown.fence(source, 'python')}"
    yield f"Compiled with `xla-inspect since {command} --from {history.first} --to {history.last}`.\n"
    yield "## Versions\n"
    yield _tabulate_versions(history)
    for change in history.changes:
        yield from _write_differences(change)


def _tabulate(history: ReleaseHistory) -> str:
    columns = {name: show for name, show in COLUMNS.items() if name != "loops"}
    rows = [(row.release, *(show(row) for show in columns.values()), row.failed) for row in history.rows]
    return markdown.table(("JAX", *columns, ""), rows)


def _tabulate_versions(history: ReleaseHistory) -> str:
    # Only the releases next to a change are of interest in a bug report.
    near = {release for change in history.changes for release in (change.before, change.after)}
    # Without a change, there are no such releases, so all versions are listed.
    rows: list[ReleaseRow] = [row for row in history.rows if row.release in near] or list(history.rows)
    names = list(dict.fromkeys(name for row in rows for name in row.versions or {}))
    return markdown.table(
        ("package", *(row.release for row in rows)),
        [(name, *((row.versions or {}).get(name, "") for row in rows)) for name in names],
    )


def _write_differences(change: ReleaseChange) -> Iterator[str]:
    for name, text in (("optimized HLO", change.hlo_diff), ("generated code", change.code_diff)):
        if not text:
            continue
        lines = text.splitlines()
        more = [f"... {plural(len(lines) - _MOST, 'more line')}"] if len(lines) > _MOST else []
        body = "\n".join([*lines[:_MOST], *more])
        summary = f"The {name} of JAX {change.before} and {change.after} without names ({change.question})"
        yield f"<details><summary>{summary}</summary>\n\n{markdown.fence(body, 'diff')}\n</details>\n"
