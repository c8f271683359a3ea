"""Where what breaks a bound comes from: lines of Python, and passes, for which a program is compiled again."""

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
    """What tells where a program's numbers come from.

    Args:
        subject: The program, which is compiled again with its passes the first time that a pass is asked for.
        capture: Its capture.
    """

    def __init__(self, subject: Subject, capture: Capture) -> None:
        """Compile nothing yet."""
        self.subject, self.capture = subject, capture

    @cached_property
    def finder(self) -> WhyFinder | None:
        """What answers why, or None where the program does not compile with its passes dumped."""
        axes = self.subject.call.settings.get("mesh") if self.subject.call else None
        try:
            capture, _ = self.subject.capture_most(self.capture.target, ("reasons",), passes=True)
            return WhyFinder(capture, axes)
        except (InspectError, RuntimeError):
            return None

    def explain(self, name: str) -> Finding | None:
        """Return why an instruction, a line or an argument is as it is, or None where nobody knows."""
        return self._ask(lambda finder: finder.explain(name))

    def explain_apart(self, one: str, other: str) -> Finding | None:
        """Return why two things are in two kernels, or None where nobody knows."""
        return self._ask(lambda finder: finder.explain_apart(one, other))

    def _ask(self, explain: Callable[[WhyFinder], tuple[tuple[Finding, ...], object]]) -> Finding | None:
        try:
            findings = explain(self.finder)[0] if self.finder else ()
        except InspectError:
            return None
        return findings[0] if findings else None

    def tell_memory(self, roles: Collection[str]) -> Iterator[str]:
        """Yield what holds most of the memory at the peak, by line, and the pass that made it.

        Args:
            roles: What it is there for; all where there are none.
        """
        held = [each for each in list_held(self.capture) if not roles or each.role in roles]
        for each in held[:_ROWS]:
            shape = each.shape.plain if each.shape is not None else ""
            text = read_line(self.capture, each.line) if each.line else ""
            where = show_place(each.line) if each.line else each.name or "no line known"
            made = self._name_maker(each.maker.instruction) if each.maker else ""
            yield _row(format_bytes(each.size), f"{where} {_quote(text)}", f"{ROLES[each.role]} {shape}".strip(), made)

    def tell_kernels(self) -> Iterator[str]:
        """Yield the lines with most kernels."""
        rows = sorted(tally(self.capture).kernels, key=lambda each: -each.number)
        for each in rows[:_ROWS]:
            yield _row(f"{each.number} x {each.what}", _name_line(each))

    def tell_copies(self, copies: Sequence[Copy]) -> Iterator[str]:
        """Yield copies with why each is there, the largest first."""
        for each in sorted(copies, key=lambda each: -each.bytes)[:_ROWS]:
            size = _show_moved(each.bytes, each.runs)
            yield _row(size, f"{each.where} {_quote(each.text)}", each.name)
            yield from self.tell_finding(each.name)

    def tell_exchanges(self, exchanges: Sequence[Exchange]) -> Iterator[str]:
        """Yield collectives with who asked for each, those that carry most first."""
        for each in sorted(exchanges, key=lambda each: -each.total_bytes)[:_ROWS]:
            along = f" over {' x '.join(each.axes)}" if each.axes else ""
            text = each.places[0].text if each.places else ""
            size = _show_moved(each.operand_bytes, each.runs)
            yield _row(size, f"{each.where} {_quote(text)}", f"{each.kind}{along}")
            yield from self.tell_finding(each.name)

    def tell_finding(self, name: str) -> Iterator[str]:
        """Yield why something is as it is, in a sentence, with the pass and what the compiler said."""
        if found := self.explain(name):
            yield from tell_finding(found)

    def tell_changes(self, record: Record | None, part: str) -> Iterator[str]:
        """Yield the lines that changed most since a record.

        Args:
            record: The record, or None.
            part: `kernels`, `collectives` or `memory`.
        """
        if record is None:
            return
        changes: tuple[LineChange, ...] = getattr(compare_tallies(record.tally, tally(self.capture)), part)
        show = format_bytes if part == "memory" else str
        for each in sorted(changes, key=lambda each: -abs(each.right - each.left))[:_ROWS]:
            yield _row(f"{show(each.left)} -> {show(each.right)}", each.what, each.where)
        grown = [each for each in changes if each.right > each.left and each.file and part == "kernels"]
        for each in grown[:1]:
            yield from self.tell_finding(f"{each.file}:{each.line}")

    def _name_maker(self, instruction: Instruction) -> str:
        if self.finder is None:
            return ""
        evidence = self.finder.evidence
        own = next((each for each in evidence.module.walk() if each.name == instruction.name), None)
        if own is None:
            return ""
        holder = evidence.kernels.holder(own)
        hero = evidence.kernels.hero(holder) if holder else own
        step = evidence.histories.find_first(hero)
        if step.deed == "imported" or not step.name:
            return "the program asks for it"
        return f"made by the pass {step.name}"


def tell_finding(found: Finding) -> Iterator[str]:
    """Yield a finding in a sentence, with the pass that brought it about, and what the compiler said then."""
    yield f"      {found.verdict}"
    if found.pass_name not in {"", "import"} and " pass " not in found.verdict:
        yield f"      pass: {found.pass_name}"
    said = [each for each in found.reasons if each.pass_name == found.pass_name and each.verdict != "noted"]
    # Where it stands in the verdict already, it is not said twice.
    for reason in [] if " because " in found.verdict else said[:1]:
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
