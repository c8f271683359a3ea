"""A program under the releases of JAX between two: what it comes to under each, and where and by what that changes."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Hint, Listing, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_bytes, format_duration, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from xla_inspect.answers.answer_parts import Part

_LONGEST = 60
_FIRST = "first that differs"


@dataclass(frozen=True)
class ReleaseRow:
    """A program under one release; what the release cannot tell is None.

    Attributes:
        release: The release of JAX.
        failed: Why there is nothing to compare, or an empty string.
        place: The line of the reader's file that did not load or trace, or an empty string.
        versions: The packages that compiled it, name to version.
        temporary_bytes: What the executable sets aside for temporaries.
        copies_in_loops: How many copies run in a loop or a branch.
        kernels: How many kernels there are.
        collectives: How many exchanges between devices.
        code: Four letters that name the generated code, the same where it is the same but for names.
        code_instructions: How many instructions it has.
        code_loops: How many loops it has.
        deepest_loops: How many of them lie in each other at most.
        compile_seconds: What the compile took of this machine's processor, or the limit where it took longer.
        run_seconds: The median of what it takes to run on this machine's CPU, where that was asked for.
        notes: What else is to be said.
    """

    release: str
    failed: str = ""
    place: str = ""
    versions: Mapping[str, str] | None = None
    temporary_bytes: int | None = None
    copies_in_loops: int | None = None
    kernels: int | None = None
    collectives: int | None = None
    code: str | None = None
    code_instructions: int | None = None
    code_loops: int | None = None
    deepest_loops: int | None = None
    compile_seconds: float | None = None
    run_seconds: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseChange:
    """Where the answer to one question changes.

    Attributes:
        question: What was asked about, such as `kernels` or `memory`.
        before: The last release that answers as the oldest does.
        after: The first that does not.
        between: Releases between the two that could not be measured.
        old: The answer of the first, as text.
        new: The answer of the second.
        stage: Where the two compiles part: `lowering` (JAX gives the compiler another program), `pass`, `scheduling`
            (the order of instructions), `below HLO` (the plan of memory, the generated code or a library) or `unknown`.
        old_pass: The pass of the older compile after which the modules differ for good, or an empty string.
        new_pass: The same of the newer.
        blamed: Which of the two is to blame, or an empty string.
        maker: The pass of the newer compile that makes what was asked about, or an empty string.
        pipeline: The pipeline of `maker`, or of `new_pass`.
        place: `file:line` of Python, or an empty string.
        line: What stands there.
        what: What came or went, most of it first, as text.
        slower: The passes that take longer, as text, where the time of the compile was asked about.
        hlo_diff: The optimized modules compared, names of values left out, as a unified diff.
        code_diff: The generated code compared, likewise.
    """

    question: str
    before: str
    after: str
    between: tuple[str, ...]
    old: str
    new: str
    stage: str
    old_pass: str = ""
    new_pass: str = ""
    blamed: str = ""
    maker: str = ""
    pipeline: str = ""
    place: str = ""
    line: str = ""
    what: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    hlo_diff: str = ""
    code_diff: str = ""

    @property
    def cause(self) -> str:
        """The pass that is to blame, or at which stage the compiles part."""
        if self.stage == "pass" or self.maker:
            return f"pass {self.maker or self.blamed}"
        return {"lowering": "JAX lowers it otherwise", "unknown": "unknown"}.get(self.stage, self.stage)

    def tell(self) -> str:
        """Return it in a few sentences."""
        told = [f"`{self.question}`: {self.old} up to {self.before}, {self.new} from {self.after} on."]
        if self.between:
            told.append(f"What lies between could not be measured: {', '.join(self.between)}.")
        told += [_STAGES[self.stage]] if self.stage != "pass" else [self._tell_pass()]
        if self.maker and self.stage != "pass":
            told.append(f"What was asked about is made by the pass `{self.maker}`.")
        if self.place:
            told.append(f"The line is {self.place}{f', `{shorten(self.line, _LONGEST)}`' if self.line else ''}.")
        if self.what:
            told.append(f"{'; '.join(self.what)}.")
        if self.slower:
            told.append(f"Longer than before: {'; '.join(self.slower)}.")
        return " ".join(told)

    def _tell_pass(self) -> str:
        pair = f"`{self.blamed}`"
        if self.old_pass and self.new_pass and self.old_pass != self.new_pass:
            pair = f"`{self.old_pass}` in {self.before} and `{self.new_pass}` in {self.after}"
        said = f"The modules differ for good from here on: after {pair}."
        if self.blamed == self.old_pass != self.new_pass:
            said = f"{said} {self.after} has no `{self.old_pass}` that changes the module."
        if self.maker and self.maker != self.blamed:
            said = f"{said} What was asked about is made by `{self.maker}`."
        return said


_STAGES = {
    "lowering": "The modules differ before the first pass already, and never meet: JAX gives the compiler another "
    "program.",
    "scheduling": "The optimized modules are the same but for the order of their instructions: it is the scheduler.",
    "below HLO": "The optimized modules are the same: it is below HLO, in the plan of memory, the generated code or a "
    "library.",
    "unknown": "The modules of these releases cannot be compared pass by pass.",
}


@dataclass(frozen=True)
class ReleaseHistory(Answer):
    """A program under the releases between two.

    Attributes:
        program: The name of the program.
        target: The target's short name, with its grid.
        asked: What was asked about, as on the command line.
        first: The oldest release.
        last: The newest.
        questions: What was asked of each release.
        rows: What was measured, the oldest release first.
        not_measured: Releases that did not have to be measured.
        changes: Where answers change, the oldest release first.
        installed_bytes: What the environments of releases take on disk, what uv's cache shares with them among it.
    """

    program: str
    target: str
    asked: str
    first: str
    last: str
    questions: tuple[str, ...]
    rows: tuple[ReleaseRow, ...]
    not_measured: tuple[str, ...]
    changes: tuple[ReleaseChange, ...]
    installed_bytes: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing changed."""
        return not self.changes

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the releases, and what changed where."""
        yield self._say()
        yield self._tabulate()
        yield from (change.tell() for change in self.changes)
        for row in self.rows:
            if row.failed:
                where = f" ({row.place})" if row.place else ""
                yield f"{row.release} was not measured: {row.failed}{where}."
            yield from (f"{row.release}: {note}." for note in row.notes)
        yield from self._list_differences()
        yield from self._advise()

    def _list_differences(self) -> Iterator[Part]:
        for change in self.changes:
            between = f"{change.before} and {change.after}"
            if change.hlo_diff:
                yield Listing(change.hlo_diff, f"Optimized HLO of {between}, names left out ({change.question})")
            if change.code_diff:
                yield Listing(change.code_diff, f"Generated code of {between}, names left out ({change.question})")

    def _advise(self) -> Iterator[Part]:
        if self.not_measured:
            yield f"Not measured, since it tells nothing more: {', '.join(self.not_measured)}."
        if self.not_measured and not self.changes:
            again = suggest("since", self.asked, "--every", "--from", self.first, "--to", self.last)
            yield Hint("What changed and changed back between the two is seen where each release is measured:", again)
        if self.installed_bytes:
            yield f"The environments of releases take {format_bytes(self.installed_bytes)} of the cache folder."
        if self.changes and len(self.questions) > 1:
            hint = suggest("since", self.asked, "--ask", self.changes[0].question, "--issue", "issue.md")
            yield Hint("The text of an issue about it:", hint)

    def _say(self) -> str:
        where = f"{self.program} on {title(self.target)}, JAX {self.first} to {self.last}:"
        if not any(not row.failed for row in self.rows):
            return f"{where} it could be measured under no release."
        if not self.changes:
            return f"{where} {self._say_unchanged()}"
        first = self.changes[0]
        told = ", ".join(
            f"{change.question} ({change.old} -> {change.new}, {change.cause})"
            for change in self.changes
            if change.after == first.after
        )
        more = plural(sum(change.after != first.after for change in self.changes), "later change")
        later = f"; {more}" if any(change.after != first.after for change in self.changes) else ""
        return f"{where} {first.after} is the {_FIRST}: {told}{later}."

    def _say_unchanged(self) -> str:
        """Return that no question found a difference, with the columns that differ by less than counts as one."""
        measured = [row for row in self.rows if not row.failed]
        titles = {"loops": "code", "temporaries": "memory", "copies in loops": "copies"}
        varied = {
            titles.get(title, title)
            for title, show in (*_COLUMNS, _COLLECTIVES)
            if len({show(row) for row in measured} - {""}) > 1
        }
        small = [name for name in self.questions if name in varied and name in LEAST]
        same = tuple(name for name in self.questions if name not in small)
        parts = [f"no difference in {_join(same)}"] if same else []
        parts += [f"the {name} differs by less than {LEAST[name]}, which does not count" for name in small]
        return f"{'; '.join(parts)}."

    def _tabulate(self) -> Table:
        changed: dict[str, list[str]] = {}
        for change in self.changes:
            changed.setdefault(change.after, []).append(change.question)
        columns = [*_COLUMNS[:3]]
        if any(row.collectives for row in self.rows):
            columns.append(_COLLECTIVES)
        columns += _COLUMNS[3:]
        if "compile-time" in self.questions:
            columns.append(("compile", lambda row: _show(row.compile_seconds, format_duration)))
        if any(row.run_seconds is not None for row in self.rows):
            columns.append(("run", lambda row: _show(row.run_seconds, format_duration)))
        rows = tuple(
            (
                row.release,
                *(show(row) if not row.failed else "" for _, show in columns),
                shorten(row.failed, _LONGEST) or _mark(changed.get(row.release, ())),
            )
            for row in self.rows
        )
        heads = ("release", *(head for head, _ in columns), "")
        return Table(heads, rows, tuple(range(1, len(heads) - 1)))


LEAST: Mapping[str, str] = {"code": "50% of its operations", "memory": "1% of its bytes"}
"""From which difference on a question counts two releases as different, of those that do not count each difference."""


def _mark(questions: Sequence[str]) -> str:
    return f"<- {', '.join(questions)}" if questions else ""


def _show[T: float](value: T | None, form: Callable[[T], str] = str) -> str:
    return "" if value is None else form(value)


def _show_loops(row: ReleaseRow) -> str:
    if row.code_loops is None:
        return ""
    return f"{row.code_loops}, {row.deepest_loops} deep" if row.code_loops else "0"


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


type _Column = tuple[str, Callable[[ReleaseRow], str]]

_COLLECTIVES: _Column = ("collectives", lambda row: _show(row.collectives))
_COLUMNS: Sequence[_Column] = (
    ("temporaries", lambda row: _show(row.temporary_bytes, format_bytes)),
    ("copies in loops", lambda row: _show(row.copies_in_loops)),
    ("kernels", lambda row: _show(row.kernels)),
    ("code", lambda row: row.code or ""),
    ("loops", _show_loops),
)
