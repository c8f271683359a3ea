"""A program compiled for a target, of which a test asserts what it means: numbers to compare, and what has to hold."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from xla_inspect.answers import compare_captures, explain_memory, explain_recompiles, tally
from xla_inspect.budgets.argument_places import find_argument, tell_broken
from xla_inspect.budgets.assertion_log import AssertionLog, BrokenError
from xla_inspect.budgets.bound import read_amount, read_bound, show_amount
from xla_inspect.budgets.budget_record import Record
from xla_inspect.budgets.causes import Causes, tell_finding
from xla_inspect.budgets.fingerprint import Fingerprint
from xla_inspect.budgets.measures import MEASURES, Measured, size_exchange
from xla_inspect.budgets.quantity import Quantity
from xla_inspect.budgets.shared_kernel import SharedKernel
from xla_inspect.budgets.traffic import Traffic
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.report import title
from xla_inspect.subject import watch_calls
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect.analysis import Difference
    from xla_inspect.budgets.bound import Unit
    from xla_inspect.captured import Capture
    from xla_inspect.subject import Subject

__tracebackhide__ = True
"""So that pytest shows the test's own lines."""
TRACES = "traces"
"""The number that is measured of several calls, and of no compiled program."""


class CompiledProgram:
    """What `hlo(...)` gives: numbers that compare, and assertions that raise by themselves.

    Args:
        subject: The program and how it is called.
        target: A short name, see `Subject.name_target`.
        calls: The positional arguments of further calls, for `traces`.
        log: What notes that something was asserted.
        record: What was recorded of it, or None.
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
        """Compile nothing yet."""
        self.subject, self.target = subject, target
        self.record = record
        self.capture: Capture = subject.capture(target)
        self.name = f"{subject.name} on {title(self.capture.target)}"
        self._calls = tuple(calls)
        self._log = log or AssertionLog()
        axes = subject.call.settings.get("mesh") if subject.call else None
        self._measured = Measured(self.capture, axes or {})
        self._causes = Causes(subject, self.capture)

    def __repr__(self) -> str:
        """Return what is compiled for what."""
        return f"<{self.name}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Quantity:
            """Return a number by its name, of `MEASURES`."""
            if name.startswith("_") or name not in MEASURES:
                known = ", ".join((*MEASURES, TRACES))
                message = f"no number {name!r} is measured of a program; there are {known}"
                raise AttributeError(message, name=name, obj=self)
            return self.measure(name)

    def measure(self, name: str) -> Quantity:
        """Return a number that is measured of the program.

        Args:
            name: One of `MEASURES`, or `traces`.

        Raises:
            BrokenError: The program does not compile.
            InspectError: There is no such number, or it is `traces` and there are no further calls.
        """
        if name == TRACES:
            return self.traces
        if name not in MEASURES:
            message = f"no number {name!r} is measured of a program; there are {', '.join((*MEASURES, TRACES))}"
            raise InspectError(message)
        self.require(memory=MEASURES[name].part == "memory")
        measure = MEASURES[name]
        return Quantity(
            name,
            measure.find(self._measured),
            measure.unit,
            of=self.name,
            explain=lambda *_: self._tell(name, [*measure.tell(self._causes, self._measured)], measure.part),
            log=self._log,
        )

    def require(self, *, memory: bool = False) -> None:
        """Do nothing where the program compiles, or where it does not and its memory is known all the same.

        Raises:
            BrokenError: It does not compile.
        """
        if self.capture.error and not (memory and self.capture.buffers):
            said = shorten(self.capture.error.partition("\n")[0], 300)
            self._break(f"{self.name} does not compile: {said}", [*self._causes.tell_memory(())], "memory")

    @property
    def traces(self) -> Quantity:
        """How often JAX traces the function for the call and the further ones that `calls` has.

        Raises:
            InspectError: There are no further calls.
        """
        if self.subject.call is None or not self._calls:
            message = (
                f"{self.name}: traces counts how often several calls trace; give the further ones, as in "
                "hlo(step, *shapes, calls=[(state, 0.1), ...])"
            )
            raise InspectError(message)
        found = explain_recompiles(watch_calls(self.subject.call, self._calls), is_timed=False)
        calls = [call for function in found.functions for call in function.calls]
        rows = [
            f"    traced again: {'; '.join(map(_tell_difference, call.differences[:3])) or 'JAX had dropped the first'}"
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

    def collectives(self, kind: str = "", *, over: str = "") -> Traffic:
        """Return what the devices send each other.

        Args:
            kind: Such as `all-reduce`; all kinds where it is empty.
            over: An axis of the mesh; all where it is empty.

        Raises:
            BrokenError: The program does not compile.
            InspectError: There is no such kind or axis.
        """
        self.require()
        chosen = self._measured.choose_exchanges(kind, over)

        def count(name: str, number: int, unit: Unit) -> Quantity:
            def explain(*_: object) -> str:
                return self._tell("", [*self._causes.tell_exchanges(chosen)], "collectives")

            return Quantity(name, number, unit, of=self.name, explain=explain, log=self._log)

        return Traffic(chosen, f"{kind or 'collectives'}{f' over {over}' if over else ''}", count)

    def none(self, kind: str = "", *, over: str = "", larger_than: float | str = 0) -> None:
        """Assert that there is no collective, or none that is larger.

        Args:
            kind: As in `collectives`.
            over: Likewise.
            larger_than: Bytes of what one makes on each device.

        Raises:
            BrokenError: There is one.
            InspectError: As `collectives`.
        """
        self._log.note_asserted()
        self.require()
        least = read_amount(larger_than, "bytes", "larger_than")
        found = [each for each in self._measured.choose_exchanges(kind, over) if size_exchange(each) > least]
        if found:
            where = f" over {over}" if over else ""
            size = f" larger than {show_amount(least, 'bytes')}" if least else ""
            said = f"{self.name} has {plural(len(found), kind or 'collective')}{where}{size}, and has to have none"
            self._break(said, [*self._causes.tell_exchanges(found)], "collectives")

    def no_copies(self, *, larger_than: float | str = 0) -> None:
        """Assert that nothing is only copied or transposed, or nothing larger.

        Args:
            larger_than: Bytes of one.

        Raises:
            BrokenError: Something is.
        """
        self._log.note_asserted()
        self.require()
        least = read_amount(larger_than, "bytes", "larger_than")
        found = [each for each in self._measured.copies if each.bytes > least]
        if found:
            size = f" larger than {show_amount(least, 'bytes')}" if least else ""
            many = plural(len(found), "copy or transpose", "copies and transposes")
            said = f"{self.name} has {many}{size}, and has to have none"
            self._break(said, [*self._causes.tell_copies(found)], "kernels")

    def in_place(self, argument: int | str) -> None:
        """Assert that an argument is updated in place: a result takes the place of each array, and none is copied.

        Args:
            argument: Its number, or its name.

        Raises:
            BrokenError: It is not.
            InspectError: There is no such argument.
        """
        self._log.note_asserted()
        self.require()
        if self.subject.call is None:
            message = "in_place is asserted of a function, and this is a capture that was saved"
            raise InspectError(message)
        name, parameters = find_argument(self.capture, self.subject.call, argument)
        rows = []
        for said, asked in tell_broken(self.capture, parameters):
            rows += [f"    {said}", *self._causes.tell_finding(asked)]
        if rows:
            self._break(f"{self.name} does not update its argument {name} in place", rows, "memory")

    def one_kernel(self, *names: str) -> None:
        """Assert that parts of the program are computed in one and the same kernel.

        Args:
            *names: Each a named scope, a Python function, a variable, a line or a piece of one.

        Raises:
            BrokenError: They are in several.
            InspectError: The program has no such part; with those that it has.
        """
        self._log.note_asserted()
        self.require()
        shared = SharedKernel(self.capture)
        launches = shared.find_all(names)
        if len(launches) > 1:
            rows = [f"    {name}: {', '.join(each.name for each in shared.find(name))}" for name in names]
            finding = self._causes.explain_apart(*names[:2]) if len(names) > 1 else None
            finding = finding or self._causes.explain(names[0])
            said = f"{' and '.join(names)} of {self.name}: {plural(len(launches), 'kernel')}, and it has to be one"
            self._break(said, [*rows, *(tell_finding(finding) if finding else ())], "kernels")

    def apart(self, one: str, other: str) -> None:
        """Assert that no kernel computes anything of both of two parts of the program.

        Args:
            one: A part, as in `one_kernel`.
            other: Another.

        Raises:
            BrokenError: One does.
            InspectError: The program has no such part; with those that it has.
        """
        self._log.note_asserted()
        self.require()
        shared = SharedKernel(self.capture)
        left, right = ({each.name for each in shared.find(name)} for name in (one, other))
        if both := left & right:
            finding = self._causes.explain_apart(one, other)
            said = f"{one} and {other} of {self.name} share the kernel {', '.join(sorted(both))}, and have to be apart"
            self._break(said, [*(tell_finding(finding) if finding else ())], "kernels")

    def fits(self, target: str = "") -> None:
        """Assert that the program suffices with the memory of a device.

        Args:
            target: The target, with its grid; the program's own where it is empty.

        Raises:
            BrokenError: It does not fit, or does not compile.
            InspectError: Nobody knows how much memory a device of the target has.
            TargetUnavailableError: This machine cannot compile for the target.
        """
        self._log.note_asserted()
        capture = self.subject.capture(target) if target else self.capture
        told = explain_memory(capture, "")
        if told.fits is None and not capture.error:
            message = f"how much memory {title(capture.target)} has depends on the machine; assert step.peak < '9 GiB'"
            raise InspectError(message)
        if not told.holds:
            causes = Causes(self.subject, capture)
            said = str(next(iter(told.tell())))
            if capture.error and not told.needed_bytes:
                said = f"{said} {shorten(capture.error, 200)}"
            self._break(said, [*causes.tell_memory(())], "memory" if not target else "")

    def same_as(self, other: CompiledProgram) -> None:
        """Assert that the compiler made the same of another program, instruction by instruction, names aside.

        Args:
            other: The other, compiled for the same target.

        Raises:
            BrokenError: It did not.
        """
        self._log.note_asserted()
        self.require()
        other.require()
        found = compare_captures(self.capture, other.capture, (self.subject.name, other.subject.name))
        if not found.holds:
            self._break(str(found), [], "")

    def as_recorded(self, *names: str, within: str = "") -> None:
        """Assert that numbers are no more than was recorded: by `pytest --xla-update`, or `xla-inspect check --update`.

        Args:
            *names: Of `MEASURES`; `peak` and `kernels` where none is given.
            within: How much more each may be, such as `5 %`.

        Raises:
            BrokenError: One is more.
            InspectError: Nothing was recorded, or there is no such number.
        """
        self._log.note_asserted()
        for name in names or ("peak", "kernels"):
            self.hold(name, f"recorded + {within}" if within else "recorded")

    def hold(self, name: str, given: object) -> None:
        """Assert a bound that is given as a number or text, such as `< 9 GiB` or `recorded + 5 %`.

        Args:
            name: The number that it is of, as in `measure`.
            given: The bound, see `read_bound`.

        Raises:
            BrokenError: It is broken.
            InspectError: It is no bound, or of what was recorded, and nothing was.
        """
        self._log.note_asserted()
        quantity = self.measure(name)
        self._log.note_use(quantity)
        bound = read_bound(given, quantity.unit, name)
        limit = bound.find_limit(self.record.numbers.get(name) if self.record else None)
        if limit is None:
            message = (
                f"nothing was recorded of {name} of {self.name}: pytest --xla-update records, or xla-inspect check "
                "--update"
            )
            raise InspectError(message)
        if not bound.is_kept(quantity.number, limit):
            raise BrokenError(quantity.explain(bound.sign, limit))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What the program is now."""
        return Fingerprint.of(self.capture, self.subject.call)

    def make_record(self) -> Record:
        """Return what is to be recorded of it.

        Raises:
            BrokenError: It does not compile.
        """
        self.require()
        numbers = {name: float(measure.find(self._measured)) for name, measure in MEASURES.items()}
        if self._calls:
            traces = self.traces
            self._log.note_use(traces)
            numbers[TRACES] = float(traces.number)
        return Record(self.fingerprint, numbers, tally(self.capture))

    def _break(self, said: str, rows: Iterable[str], part: str) -> None:
        raise BrokenError("\n".join(filter(None, (said, self._tell("", [*rows], part)))))

    def _tell(self, name: str, rows: Sequence[str], part: str) -> str:
        """Return where something comes from, and what changed since the record."""
        told = [*rows]
        if self.record is None:
            told.append("  Nothing was recorded of it to compare with.")
        else:
            if name in self.record.numbers:
                told.append(f"  Recorded: {show_amount(self.record.numbers[name], MEASURES[name].unit)}.")
            told.append(f"  {self.record.fingerprint.tell(self.fingerprint)}")
            told += self._causes.tell_changes(self.record, part) if part else []
        return "\n".join(told)


def _tell_difference(each: Difference) -> str:
    return f"{each.argument or 'the function'} ({each.kind}): {each.before} -> {each.after}"
