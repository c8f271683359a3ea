"""The printed answer about several releases of JAX: paragraphs and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Hint, Listing, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.questions.since.release_history import _LONGEST, ReleaseHistory, ReleaseRow
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_duration, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.answers import Part


LEAST: Mapping[str, str] = {"code": "50% of its operations", "memory": "1% of its bytes"}
"""The least difference that counts as a change, for the questions that ignore small differences."""


def _show_loops(row: ReleaseRow) -> str:
    if row.code_loops is None:
        return ""
    return f"{row.code_loops}, {row.deepest_loops} deep" if row.code_loops else "0"


COLUMNS: Mapping[str, Callable[[ReleaseRow], str]] = {
    "temporaries": lambda row: _show(row.temporary_bytes, format_bytes),
    "copies in loops": lambda row: _show(row.copies_in_loops),
    "kernels": lambda row: _show(row.kernels),
    "collectives": lambda row: _show(row.collectives),
    "code": lambda row: row.code or "",
    "numbers": lambda row: row.numbers or "",
    "loops": _show_loops,
}
"""The functions that return the cell of a release in each column of the table, by heading."""


def render(history: ReleaseHistory) -> Iterator[Part]:
    """Yield the printed answer: a summary, a table of the releases, and the cause of each change."""
    yield _say(history)
    yield _tabulate(history)
    yield from (change.tell() for change in history.changes)
    for row in history.rows:
        if row.failed:
            where = f" ({row.place})" if row.place else ""
            yield f"JAX {row.release} was not measured: {row.failed}{where}."
        yield from (f"JAX {row.release}: {note}." for note in row.notes)
    yield from _list_differences(history)
    yield from _advise(history)


def _list_differences(history: ReleaseHistory) -> Iterator[Part]:
    for change in history.changes:
        between = f"{change.before} and {change.after}"
        if change.hlo_diff:
            yield Listing(change.hlo_diff, f"Optimized HLO of JAX {between} without names ({change.question})")
        if change.code_diff:
            yield Listing(change.code_diff, f"Generated code of JAX {between} without names ({change.question})")


def _advise(history: ReleaseHistory) -> Iterator[Part]:
    if history.not_measured:
        yield f"Releases that did not have to be measured: {', '.join(history.not_measured)}."
    names = history.repeated or (history.questions if len(history.questions) == 1 else ())
    asks = [word for name in names for word in ("--ask", name)]
    again = suggest("since", history.asked, "--every", *asks, "--from", history.first, "--to", history.last)
    if history.repeated:
        several = f"Answers also changed at other releases ({', '.join(history.repeated)}). To find each change:"
        yield Hint(several, again)
    # Bisection skips releases between two with equal answers, so it can miss a change that was reverted.
    elif history.not_measured and not history.changes:
        yield Hint("To find changes that a later release reverted, measure each release:", again)
    if history.installed_bytes:
        yield f"The environments of the releases use {format_bytes(history.installed_bytes)} of the cache folder."
    if history.changes and len(history.questions) > 1:
        hint = suggest("since", history.asked, "--ask", history.changes[0].question, "--issue", "issue.md")
        yield Hint("To write the text of an issue:", hint)


def _say(history: ReleaseHistory) -> str:
    where = f"{history.program} on {title(history.target)}, JAX {history.first} to {history.last}:"
    # Without a measured release, there is nothing to compare.
    if not any(not row.failed for row in history.rows):
        return f"{where} no release could be measured."
    if not history.changes:
        return f"{where} {_say_unchanged(history)}"
    first = history.changes[0]
    changes = ", ".join(
        f"{change.question} ({change.old} -> {change.new}, {change.cause})"
        for change in history.changes
        if change.after == first.after
    )
    later = sum(change.after != first.after for change in history.changes)
    more = f"; {plural(later, 'later change')}" if later else ""
    which = "a release with a change" if history.repeated else "the first release with a change"
    return f"{where} {which} is {first.after}: {changes}{more}."


def _say_unchanged(history: ReleaseHistory) -> str:
    """Return the summary without changes, including the columns whose differences are too small to count."""
    measured = [row for row in history.rows if not row.failed]
    titles = {"loops": "code", "temporaries": "memory", "copies in loops": "copies"}
    varied = {
        titles.get(title, title) for title, show in COLUMNS.items() if len({show(row) for row in measured} - {""}) > 1
    }
    # A difference below the threshold of its question is reported, but it is not a change.
    small = [name for name in history.questions if name in varied and name in LEAST]
    same = tuple(name for name in history.questions if name not in small)
    parts = [f"no difference in {_join(same)}"] if same else []
    parts += [f"the {name} differs by less than {LEAST[name]}, which does not count as a change" for name in small]
    return f"{'; '.join(parts)}."


def _tabulate(history: ReleaseHistory) -> Table:
    questions: dict[str, list[str]] = {}
    for change in history.changes:
        questions.setdefault(change.after, []).append(change.question)
    columns = dict(COLUMNS)
    # Most programs run on one device, where the column would contain only zeros.
    if not any(row.collectives for row in history.rows):
        del columns["collectives"]
    if "numbers" not in history.questions:
        del columns["numbers"]
    if "compile-time" in history.questions:
        columns["compile"] = lambda row: _show(row.compile_seconds, format_duration)
    if any(row.run_seconds is not None for row in history.rows):
        columns["run"] = lambda row: _show(row.run_seconds, format_duration)
    rows = tuple(
        (
            row.release,
            *(show(row) if not row.failed else "" for show in columns.values()),
            shorten(row.failed, _LONGEST) or _mark(questions.get(row.release, ())),
        )
        for row in history.rows
    )
    heads = ("release", *columns, "")
    return Table(heads, rows, tuple(range(1, len(heads) - 1)))


def _mark(questions: Sequence[str]) -> str:
    return f"<- {', '.join(questions)}" if questions else ""


def _show[T: float](value: T | None, form: Callable[[T], str] = str) -> str:
    return "" if value is None else form(value)


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
