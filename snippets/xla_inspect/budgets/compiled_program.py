"""A program compiled for a target, of which a test asserts what it means: numbers to compare, and what has to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xla_inspect.budgets.argument_places import find_argument, tell_copied, tell_untaken
from xla_inspect.budgets.bound import read_amount, show_amount
from xla_inspect.budgets.collective_traffic import CollectiveTraffic
from xla_inspect.budgets.measured_number import Quantity
from xla_inspect.budgets.measures import size_exchange
from xla_inspect.budgets.program_numbers import ProgramNumbers
from xla_inspect.budgets.regression_causes import Causes, tell_finding
from xla_inspect.budgets.shared_kernel import SharedKernel
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.questions.diff import compare_captures
from xla_inspect.questions.memory import explain_memory
from xla_inspect.targets import title
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.budgets.bound import Unit
    from xla_inspect.hlo import Instruction

__tracebackhide__ = True
"""So that pytest shows the test's own lines."""


class CompiledProgram(ProgramNumbers):
    """What `hlo(...)` gives: numbers that compare, and assertions that raise by themselves.

    An assertion that holds returns True, so that `assert` may stand in front of it too.
    """

    def collectives(self, kind: str = "", *, over: str = "") -> CollectiveTraffic:
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

        return CollectiveTraffic(chosen, f"{kind or 'collectives'}{f' over {over}' if over else ''}", count)

    def _begin(self) -> None:
        """Note an assertion of the compiled program.

        Raises:
            BrokenError: It does not compile.
        """
        self._log.asserted = True
        self.require()

    def none(self, kind: str = "", *, over: str = "", larger_than: float | str = 0) -> Literal[True]:
        """Assert that there is no collective, or none that is larger.

        Args:
            kind: As in `collectives`.
            over: Likewise.
            larger_than: Bytes of what one makes on each device.

        Raises:
            BrokenError: There is one.
            InspectError: As `collectives`.
        """
        self._begin()
        least = read_amount(larger_than, "bytes", "larger_than")
        found = [each for each in self._measured.choose_exchanges(kind, over) if size_exchange(each) > least]
        if found:
            many = f"{plural(len(found), kind or 'collective')}{f' over {over}' if over else ''}"
            self._break_none(many, least, self._causes.tell_exchanges(found), "collectives")
        return True

    def no_copies(self, *, larger_than: float | str = 0) -> Literal[True]:
        """Assert that nothing is only copied or transposed, or nothing larger.

        Args:
            larger_than: Bytes of one.

        Raises:
            BrokenError: Something is.
        """
        self._begin()
        least = read_amount(larger_than, "bytes", "larger_than")
        found = [each for each in self._measured.copies if each.bytes > least]
        if found:
            many = plural(len(found), "copy or transpose", "copies and transposes")
            self._break_none(many, least, self._causes.tell_copies(found), "kernels")
        return True

    def _break_none(self, many: str, least: float, rows: Iterable[str], part: str) -> None:
        size = f" larger than {show_amount(least, 'bytes')}" if least else ""
        self._break(f"{self.name} has {many}{size}, and has to have none", rows, part)

    def donated(self, argument: int | str) -> Literal[True]:
        """Assert that a result takes the place of each array of an argument, though the compiler may copy it first.

        Args:
            argument: Its number, or its name.

        Raises:
            BrokenError: None does.
            InspectError: There is no such argument.
        """
        name, parameters = self._find_argument(argument)
        rows = self._explain(tell_untaken(self.capture, parameters))
        if rows:
            self._break(f"{self.name} does not let a result take the place of its argument {name}", rows, "memory")
        return True

    def in_place(self, argument: int | str) -> Literal[True]:
        """Assert that an argument is updated in place: a result takes the place of each array, and none is copied.

        Args:
            argument: Its number, or its name.

        Raises:
            BrokenError: It is not.
            InspectError: There is no such argument.
        """
        name, parameters = self._find_argument(argument)
        told = (*tell_untaken(self.capture, parameters), *tell_copied(self.capture, parameters))
        if told:
            self._break(f"{self.name} does not update its argument {name} in place", self._explain(told), "memory")
        return True

    def _find_argument(self, argument: int | str) -> tuple[str, tuple[Instruction, ...]]:
        self._begin()
        if self.subject.call is None:
            message = "what becomes of an argument is asserted of a function, and this is a capture that was saved"
            raise InspectError(message)
        return find_argument(self.capture, self.subject.call, argument)

    def _explain(self, told: Iterable[tuple[str, str]]) -> list[str]:
        """Return what is told with why each is so."""
        return [line for said, asked in told for line in (f"    {said}", *self._causes.tell_finding(asked))]

    def one_kernel(self, *names: str) -> Literal[True]:
        """Assert that parts of the program are computed in one and the same kernel.

        Args:
            *names: Each a named scope, a Python function, a variable, a line or a piece of one.

        Raises:
            BrokenError: They are in several.
            InspectError: The program has no such part; with those that it has.
        """
        self._begin()
        shared = SharedKernel(self.capture)
        launches = shared.find_all(names)
        if len(launches) > 1:
            rows = [f"    {name}: {', '.join(each.name for each in shared.find(name))}" for name in names]
            finding = self._causes.explain_apart(*names[:2]) if len(names) > 1 else None
            finding = finding or self._causes.explain(names[0])
            said = f"{' and '.join(names)} of {self.name}: {plural(len(launches), 'kernel')}, and it has to be one"
            self._break(said, [*rows, *(tell_finding(finding) if finding else ())], "kernels")
        return True

    def apart(self, one: str, other: str) -> Literal[True]:
        """Assert that no kernel computes anything of both of two parts of the program.

        Args:
            one: A part, as in `one_kernel`.
            other: Another.

        Raises:
            BrokenError: One does.
            InspectError: The program has no such part; with those that it has.
        """
        self._begin()
        shared = SharedKernel(self.capture)
        left, right = ({each.name for each in shared.find(name)} for name in (one, other))
        if both := left & right:
            finding = self._causes.explain_apart(one, other)
            said = f"{one} and {other} of {self.name} share the kernel {', '.join(sorted(both))}, and have to be apart"
            self._break(said, [*(tell_finding(finding) if finding else ())], "kernels")
        return True

    def fits(self, target: str = "") -> Literal[True]:
        """Assert that the program suffices with the memory of a device.

        Args:
            target: The target, with its grid; the program's own where it is empty.

        Raises:
            BrokenError: It does not fit, or does not compile.
            InspectError: Nobody knows how much memory a device of the target has.
            TargetUnavailableError: This machine cannot compile for the target.
        """
        self._log.asserted = True
        capture = self.subject.capture(target, code=False) if target else self.capture
        told = explain_memory(capture, "")
        if told.fits is None and not capture.error:
            message = f"how much memory {title(capture.target)} has depends on the machine; assert step.peak < '9 GiB'"
            raise InspectError(message)
        if not told.holds:
            causes = Causes(self.subject, capture)
            said = str(next(iter(told.tell())))
            if told.refusal:
                said = f"{said} What helps: {told.refusal.remedy}"
            elif capture.error and not told.needed_bytes:
                said = f"{said} {shorten(capture.error, 200)}"
            self._break(said, [*causes.tell_memory(())], "memory" if not target else "")
        return True

    def same_as(self, other: CompiledProgram) -> Literal[True]:
        """Assert that the compiler made the same of another program, instruction by instruction, names aside.

        Args:
            other: The other, compiled for the same target.

        Raises:
            BrokenError: It did not.
        """
        self._begin()
        other.require()
        found = compare_captures(self.capture, other.capture, (self.subject.name, other.subject.name))
        if not found.is_same_result:
            self._break(str(found), [], "")
        return True
