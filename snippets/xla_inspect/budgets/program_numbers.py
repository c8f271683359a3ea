"""The measured numbers of one compiled program, and assertions that they satisfy bounds or match records."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from xla_inspect.analysis import HBM, find_refusal, tell_failure
from xla_inspect.budgets.assertion_log import AssertionLog, BrokenError
from xla_inspect.budgets.bound import read_bound, show_amount
from xla_inspect.budgets.budget_record import Record
from xla_inspect.budgets.fingerprint import Fingerprint
from xla_inspect.budgets.measured_number import Quantity
from xla_inspect.budgets.measures import MEASURES, TRACES, Measured
from xla_inspect.budgets.regression_causes import Causes
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.questions.diff import tally
from xla_inspect.questions.recompiles import explain_recompiles
from xla_inspect.spelling import suggest_name
from xla_inspect.subject import watch_calls
from xla_inspect.targets import title
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect.analysis import Difference
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject

__tracebackhide__ = True
"""Hide this module in pytest's tracebacks, so that they show the test's own lines."""


class ProgramNumbers:
    """The numbers of a compiled program, with explanations.

    Args:
        subject: The program and its call.
        target: A short name, see `Subject.name_target`.
        calls: The positional arguments of further calls, for `traces`.
        log: The log of assertions.
        record: The record of the program, or None.
    """

    def __init__(
        self,
        subject: Subject,
        target: str,
        *,
        calls: Sequence[tuple[Any, ...]] = (),
        log: AssertionLog | None = None,
        record: Record | None = None,
    ) -> None:
        """Compile the program."""
        self.subject, self.target = subject, target
        self.record = record
        # The kernels' machine code is not needed for any number, and disassembling it takes time.
        self.capture: Capture = subject.capture(target, code=False)
        self.name = f"{subject.name} on {title(self.capture.target)}"
        self._calls = tuple(calls)
        self._log = log or AssertionLog()
        axes = subject.call.settings.get("mesh") if subject.call else None
        self._measured = Measured(self.capture, axes or {})
        self._causes = Causes(subject, self.capture)

    def __repr__(self) -> str:
        """Return the program and the target."""
        return f"<{self.name}>"

    # Type checkers must not see this method, since they would then accept any misspelled attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Quantity:
            """Return the number that has this name in `MEASURES`, or raise AttributeError."""
            if name not in MEASURES:
                raise AttributeError(_name_nearest(name), name=name, obj=self)
            return self.measure(name)

    def measure(self, name: str) -> Quantity:
        """Return a number of the program, as a quantity to compare.

        Args:
            name: One of `MEASURES`, or `traces`.

        Raises:
            BrokenError: The program does not compile.
            InspectError: There is no such number, the target has none, or `traces` is requested without further calls.
        """
        if name == TRACES:
            return self.traces
        if name not in MEASURES:
            raise InspectError(_name_nearest(name))
        self.require(memory=MEASURES[name].part == "memory")
        measure = MEASURES[name]
        number = measure.find(self._measured)
        if number is None:
            message = f"{self.name} has no {name}: {self._measured.time.absence}"
            raise InspectError(message)
        return Quantity(
            name,
            number,
            measure.unit,
            of=self.name,
            detail=measure.show_range(self._measured) if measure.show_range else "",
            is_least=measure.is_least(self._measured) if measure.is_least else False,
            explain=lambda *_: self._tell(name, [*measure.tell(self._causes, self._measured)], measure.part),
            log=self._log,
        )

    def require(self, *, memory: bool = False) -> None:
        """Raise an error if the program does not compile.

        Args:
            memory: Whether to accept a program that does not fit in the device's memory if its memory plan is known.

        Raises:
            BrokenError: The program does not compile.
        """
        refusal = find_refusal(self.capture)
        # For a program that exceeds the device's main memory, the compiler may still have reported the memory plan.
        if self.capture.error and not (memory and self.capture.buffers and refusal and refusal.space == HBM):
            failure = tell_failure(self.capture)
            self._break(f"{self.name} does not compile: {failure}", [*self._causes.tell_memory(())], "memory")

    def begin(self) -> None:
        """Record in the log that the test asserts something, and require that the program compiles.

        Raises:
            BrokenError: The program does not compile.
        """
        self._log.asserted = True
        self.require()

    @property
    def traces(self) -> Quantity:
        """The number of times that JAX traces the function for its call and the further calls.

        Raises:
            InspectError: There are no further calls.
        """
        if self.subject.call is None or not self._calls:
            message = (
                f"{self.name}: traces counts how often several calls trace; add the further calls, as in "
                "hlo(step, *shapes, calls=[(state, 0.1), ...])"
            )
            raise InspectError(message)
        answer = explain_recompiles(watch_calls(self.subject.call, self._calls), is_timed=False)
        calls = [call for function in answer.functions for call in function.calls]
        rows = [
            f"    traced again: {'; '.join(map(_tell_difference, call.differences[:3])) or 'JAX discarded the trace'}"
            # The first call of a function always traces, so only the further calls need an explanation.
            for call in calls[1:]
        ]
        return Quantity(
            TRACES,
            sum(call.traces for call in calls),
            "",
            of=f"{self.subject.name} in {plural(1 + len(self._calls), 'call')}",
            explain=lambda *_: "\n".join(rows),
            log=self._log,
        )

    def as_recorded(self, *names: str, within: str = "") -> Literal[True]:
        """Assert that numbers do not exceed the record of `pytest --xla-update` or `xla-inspect check --update`.

        Args:
            *names: Names of `MEASURES`, by default `peak` and `kernels`.
            within: The allowed increase, such as `5 %`.

        Raises:
            BrokenError: A number exceeds the record.
            InspectError: There is no record, or no such number.
        """
        self._log.asserted = True
        for name in names or ("peak", "kernels"):
            self.hold(name, f"recorded + {within}" if within else "recorded")
        return True

    def hold(self, name: str, value: object) -> None:
        """Assert a bound on a number, such as `< 9 GiB` or `recorded + 5 %`.

        Args:
            name: The number, as in `measure`.
            value: The bound, see `read_bound`.

        Raises:
            BrokenError: The bound is violated.
            InspectError: The value is not a bound, or refers to a missing record.
        """
        self._log.asserted = True
        self.hold_number(self.measure(name), value, self.record.numbers.get(name) if self.record else None)

    def hold_number(self, quantity: Quantity, value: object, recorded: float | None = None) -> None:
        """Assert a bound on a measured number, with the errors of `hold`.

        Args:
            quantity: The number.
            value: The bound, see `read_bound`.
            recorded: The recorded number, or None.
        """
        # A bound from a file is checked here without an operator of Python, which would record the use.
        self._log.note_use(quantity)
        bound = read_bound(value, quantity.unit, quantity.name)
        limit = bound.find_limit(recorded)
        # The bound refers to the record, but there is no recorded number.
        if limit is None:
            message = (
                f"nothing was recorded of {quantity.name} of {self.name}: record it with pytest --xla-update, or with "
                "xla-inspect check --update"
            )
            raise InspectError(message)
        # A recorded number lacks the same part, so only an amount that the user chose is checked for it.
        if bound.number is not None:
            quantity.require_known(bound.sign, limit)
        if not bound.is_kept(quantity.number, limit):
            raise BrokenError(quantity.explain(bound.sign, limit))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The current fingerprint of the program."""
        return Fingerprint.of(self.capture, self.subject.call)

    def make_record(self) -> Record:
        """Return a new record of all numbers of the program; nothing is written to a file.

        Raises:
            BrokenError: The program does not compile.
        """
        self.require()
        measured = {name: measure.find(self._measured) for name, measure in MEASURES.items()}
        numbers = {name: float(number) for name, number in measured.items() if number is not None}
        if self._calls:
            traces = self.traces
            # The number is stored and not compared, so it must not count as one that the test forgot.
            self._log.note_use(traces)
            numbers[TRACES] = float(traces.number)
        return Record(self.fingerprint, numbers, tally(self.capture))

    def _break(self, sentence: str, rows: Iterable[str], part: str) -> None:
        raise BrokenError("\n".join(filter(None, (printable(sentence), self._tell("", [*rows], part)))))

    def _tell(self, name: str, rows: Sequence[str], part: str) -> str:
        """Return the given lines and those on the changes since the record as one text, with unprintables escaped."""
        lines = [*rows]
        if self.record is None:
            lines.append("  There is no record to compare with.")
        else:
            if name in self.record.numbers:
                lines.append(f"  Recorded: {show_amount(self.record.numbers[name], MEASURES[name].unit)}.")
            lines.append(f"  {self.record.fingerprint.tell(self.fingerprint)}")
            lines += self._causes.tell_changes(self.record, part) if part else []
        # Source lines and names are untrusted text, so control characters in them are escaped.
        return "\n".join(map(printable, lines))


def _name_nearest(name: str) -> str:
    return f"there is no number {name!r} of a program; {suggest_name(name, (*MEASURES, TRACES))}"


def _tell_difference(difference: Difference) -> str:
    return f"{difference.argument or 'the function'} ({difference.kind}): {difference.before} -> {difference.after}"
