"""The explanations of a program's numbers: lines of Python, and passes, for which the program is compiled again."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_held, read_line, show_place
from xla_inspect.errors import InspectError
from xla_inspect.questions.diff import compare_tallies, tally
from xla_inspect.questions.memory import ROLES
from xla_inspect.questions.why import WhyFinder
from xla_inspect.units import format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from xla_inspect.budgets.budget_record import Record
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.collectives import Exchange
    from xla_inspect.questions.diff import LineChange, LineCount
    from xla_inspect.questions.why import Copy, Finding
    from xla_inspect.subject import Subject

_ROWS, _TEXT = 4, 60


class Causes:
    """The explanations of a program's numbers.

    Args:
        subject: The program, which is compiled again with dumped passes when an explanation first needs a pass.
        capture: The capture of the program.
    """

    def __init__(self, subject: Subject, capture: Capture) -> None:
        """Store the program; a recompilation happens only on first use of a pass."""
        self.subject, self.capture = subject, capture

    @cached_property
    def finder(self) -> WhyFinder | None:
        """The finder of reasons, or None if the program does not compile with its passes dumped."""
        axes = self.subject.call.settings.get("mesh") if self.subject.call else None
        try:
            capture, _ = self.subject.capture_most(self.capture.target, ("reasons",), passes=True)
            return WhyFinder(capture, axes)
        # The explanation is optional: a violated bound is still reported if the second compilation fails.
        except (InspectError, RuntimeError):
            return None

    def explain(self, name: str) -> Finding | None:
        """Return the first reason for an instruction, a line or an argument, or None if none is known."""
        # The finder is evaluated inside `_ask`, so that the recompilation happens only if a reason is needed.
        return self._ask(lambda finder: finder.explain(name))

    def explain_apart(self, one: str, other: str) -> Finding | None:
        """Return the first explanation why two parts are in two kernels or in one, or why one was removed, or None."""
        return self._ask(lambda finder: finder.explain_apart(one, other))

    def _ask(self, explain: Callable[[WhyFinder], tuple[tuple[Finding, ...], object]]) -> Finding | None:
        try:
            findings = explain(self.finder)[0] if self.finder else ()
        except InspectError:
            return None
        return findings[0] if findings else None

    def tell_memory(self, roles: Collection[str]) -> Iterator[str]:
        """Yield a line of text for each of the four largest values at the memory peak, with its place and its origin.

        Args:
            roles: The roles of the values; empty for all roles.
        """
        values = [value for value in list_held(self.capture) if not roles or value.role in roles]
        for value in values[:_ROWS]:
            shape = value.shape.plain if value.shape is not None else ""
            text = read_line(self.capture, value.line) if value.line else ""
            where = show_place(value.line) if value.line else value.name or "no line known"
            origin = self._name_maker(value.maker.instruction) if value.maker else ""
            yield _row(
                format_bytes(value.size), f"{where} {_quote(text)}", f"{ROLES[value.role]} {shape}".strip(), origin
            )

    def tell_kernels(self) -> Iterator[str]:
        """Yield a line of text for each of the four lines of Python with the most kernels of one sort."""
        rows = sorted(tally(self.capture).kernels, key=lambda count: -count.number)
        for count in rows[:_ROWS]:
            yield _row(f"{count.number} x {count.what}", _name_line(count))

    def tell_copies(self, copies: Sequence[Copy]) -> Iterator[str]:
        """Yield lines of text on the four largest copies and the reasons for them, the largest first."""
        for copy in sorted(copies, key=lambda copy: -copy.bytes)[:_ROWS]:
            size = _show_moved(copy.bytes, copy.runs)
            yield _row(size, f"{copy.where} {_quote(copy.text)}", copy.name)
            yield from self.tell_finding(copy.name)

    def tell_exchanges(self, exchanges: Sequence[Exchange]) -> Iterator[str]:
        """Yield lines of text on the four collectives with the most bytes and the reasons for them, in that order."""
        for exchange in sorted(exchanges, key=lambda exchange: -exchange.total_bytes)[:_ROWS]:
            along = f" over {' x '.join(exchange.axes)}" if exchange.axes else ""
            text = exchange.places[0].text if exchange.places else ""
            size = _show_moved(exchange.operand_bytes, exchange.runs)
            yield _row(size, f"{exchange.where} {_quote(text)}", f"{exchange.kind}{along}")
            yield from self.tell_finding(exchange.name)

    def tell_finding(self, name: str) -> Iterator[str]:
        """Yield the reason for an instruction, a line or an argument as indented lines, or nothing if it is unknown."""
        if finding := self.explain(name):
            yield from tell_finding(finding)

    def tell_changes(self, record: Record | None, part: str) -> Iterator[str]:
        """Yield a line of text for each of the four source lines with the largest changes since a record.

        For `kernels`, lines on the reason for one source line with more kernels follow.

        Args:
            record: The record; without one, there are no lines.
            part: `kernels`, `collectives` or `memory`.
        """
        if record is None:
            return
        changes: tuple[LineChange, ...] = getattr(compare_tallies(record.tally, tally(self.capture)), part)
        show = format_bytes if part == "memory" else str
        for change in sorted(changes, key=lambda change: -abs(change.right - change.left))[:_ROWS]:
            yield _row(f"{show(change.left)} -> {show(change.right)}", change.what, change.where)
        grown = [change for change in changes if change.right > change.left and change.file and part == "kernels"]
        for change in grown[:1]:
            yield from self.tell_finding(f"{change.file}:{change.line}")

    def _name_maker(self, instruction: Instruction) -> str:
        if self.finder is None:
            return ""
        evidence = self.finder.evidence
        # The finder has compiled the program again, so the instruction must be looked up by name in its module.
        own = next((candidate for candidate in evidence.module.walk() if candidate.name == instruction.name), None)
        if own is None:
            return ""
        holder = evidence.kernels.holder(own)
        hero = evidence.kernels.hero(holder) if holder else own
        step = evidence.histories.find_first(hero)
        if step.deed == "imported" or not step.name:
            return "the program asks for it"
        return f"made by the pass {step.name}"


def tell_finding(finding: Finding) -> Iterator[str]:
    """Yield a finding as indented lines: its verdict, its pass, and the compiler's explanation, unless they repeat."""
    yield f"      {finding.verdict}"
    # A verdict that already names its pass needs no second mention of it.
    if finding.pass_name not in {"", "import"} and " pass " not in finding.verdict:
        yield f"      pass: {finding.pass_name}"
    reasons = [
        candidate
        for candidate in finding.reasons
        if candidate.pass_name == finding.pass_name and candidate.verdict != "noted"
    ]
    # A verdict with "because" already includes the explanation.
    for reason in [] if " because " in finding.verdict else reasons[:1]:
        yield f"      {reason.pass_name}: {reason.meaning}"


def _show_moved(size: int, runs: int | None) -> str:
    return format_bytes(size) if runs == 1 else f"{format_bytes(size)} x {runs or '?'}"


def _row(*cells: str) -> str:
    return "    " + "  ".join(filter(None, (cell.strip() for cell in cells)))


def _name_line(count: LineCount) -> str:
    place = f"{count.file.rpartition('/')[2]}:{count.line}" if count.file else "no line known"
    return f"{place} {_quote(count.text)}".strip()


def _quote(text: str) -> str:
    return f"`{shorten(text, _TEXT)}`" if text else ""
