"""A compiled program in a test, with numbers to compare and assertions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xla_inspect.budgets.argument_places import find_argument, tell_copied, tell_untaken
from xla_inspect.budgets.bound import read_amount, show_amount
from xla_inspect.budgets.collective_traffic import CollectiveTraffic
from xla_inspect.budgets.measured_number import Quantity
from xla_inspect.budgets.measures import size_exchange
from xla_inspect.budgets.regression_causes import Causes, tell_finding
from xla_inspect.budgets.result_assertions import ResultAssertions
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
"""Hide this module in pytest's tracebacks, so that they show the test's own lines."""


class CompiledProgram(ResultAssertions):
    """The result of `hlo(...)`: comparable numbers, and assertions that raise an error if they fail.

    An assertion that holds returns True, so that it can also be written after `assert`. All assertions also raise
    BrokenError if the program does not compile.
    """

    def collectives(self, kind: str = "", *, over: str = "") -> CollectiveTraffic:
        """Return the traffic of the program's collectives, or only of those of a kind, over an axis, or both.

        Args:
            kind: A kind such as `all-reduce`, or an empty string for all kinds.
            over: An axis of the mesh, or an empty string for all axes.

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

    def none(self, kind: str = "", *, over: str = "", larger_than: float | str = 0) -> Literal[True]:
        """Assert that there is no collective, or none above a size.

        Args:
            kind: The kind, as in `collectives`.
            over: The axis, as in `collectives`.
            larger_than: The largest allowed operand or result of a collective on each device: bytes, or text such as
                `1 MiB`.

        Raises:
            BrokenError: There is such a collective.
            InspectError: The kind or axis does not exist.
        """
        self.begin()
        least = read_amount(larger_than, "bytes", "larger_than")
        exchanges = [
            exchange for exchange in self._measured.choose_exchanges(kind, over) if size_exchange(exchange) > least
        ]
        if exchanges:
            many = f"{plural(len(exchanges), kind or 'collective')}{f' over {over}' if over else ''}"
            self._break_none(many, least, self._causes.tell_exchanges(exchanges), "collectives")
        return True

    def no_copies(self, *, larger_than: float | str = 0) -> Literal[True]:
        """Assert that no launch only copies or transposes data, or none above a size.

        Args:
            larger_than: The size of the largest allowed copy: bytes, or text such as `1 MiB`.

        Raises:
            BrokenError: There is such a copy.
        """
        self.begin()
        least = read_amount(larger_than, "bytes", "larger_than")
        copies = [copy for copy in self._measured.copies if copy.bytes > least]
        if copies:
            many = plural(len(copies), "copy or transpose", "copies and transposes")
            self._break_none(many, least, self._causes.tell_copies(copies), "kernels")
        return True

    def _break_none(self, many: str, least: float, rows: Iterable[str], part: str) -> None:
        size = f" larger than {show_amount(least, 'bytes')}" if least else ""
        self._break(f"{self.name} has {many}{size}, but must have none", rows, part)

    def donated(self, argument: int | str) -> Literal[True]:
        """Assert that a result reuses the memory of each array of an argument; the compiler may still copy it first.

        Args:
            argument: The number or the name of the argument.

        Raises:
            BrokenError: There is an array whose memory no result reuses.
            InspectError: There is no such argument, or the program uses none of its arrays or is a saved capture.
        """
        name, parameters = self._find_argument(argument)
        rows = self._explain(tell_untaken(self.capture, parameters))
        if rows:
            self._break(f"{self.name} does not let a result take the place of its argument {name}", rows, "memory")
        return True

    def in_place(self, argument: int | str) -> Literal[True]:
        """Assert that an argument is updated in place: a result reuses the memory of each array, without a copy.

        Args:
            argument: The number or the name of the argument.

        Raises:
            BrokenError: The argument is not updated in place.
            InspectError: There is no such argument, or the program uses none of its arrays or is a saved capture.
        """
        name, parameters = self._find_argument(argument)
        facts = (*tell_untaken(self.capture, parameters), *tell_copied(self.capture, parameters))
        if facts:
            self._break(f"{self.name} does not update its argument {name} in place", self._explain(facts), "memory")
        return True

    def _find_argument(self, argument: int | str) -> tuple[str, tuple[Instruction, ...]]:
        self.begin()
        if self.subject.call is None:
            message = "an assertion about an argument needs a function, but this program is a saved capture"
            raise InspectError(message)
        return find_argument(self.capture, self.subject.call, argument)

    def _explain(self, facts: Iterable[tuple[str, str]]) -> list[str]:
        """Return a line for each fact, a pair (sentence, name), followed by the lines that explain the name."""
        return [line for fact, name in facts for line in (f"    {fact}", *self._causes.tell_finding(name))]

    def one_kernel(self, *names: str) -> Literal[True]:
        """Assert that parts of the program are computed in the same kernel.

        Args:
            *names: Named scopes, Python functions, variables, lines or pieces of lines.

        Raises:
            BrokenError: The parts are in several kernels.
            InspectError: The program has no such part (the message lists its parts), or no kernel computes it.
        """
        self.begin()
        shared = SharedKernel(self.capture)
        launches = shared.find_all(names)
        if len(launches) > 1:
            rows = [f"    {name}: {', '.join(launch.name for launch in shared.find(name))}" for name in names]
            finding = self._causes.explain_apart(*names[:2]) if len(names) > 1 else None
            finding = finding or self._causes.explain(names[0])
            sentence = f"{' and '.join(names)} of {self.name}: {plural(len(launches), 'kernel')}, but must be one"
            self._break(sentence, [*rows, *(tell_finding(finding) if finding else ())], "kernels")
        return True

    def apart(self, one: str, other: str) -> Literal[True]:
        """Assert that two parts of the program share no kernel.

        Args:
            one: A part, as in `one_kernel`.
            other: Another part.

        Raises:
            BrokenError: The parts share a kernel.
            InspectError: The program has no such part (the message lists its parts), or no kernel computes it.
        """
        self.begin()
        shared = SharedKernel(self.capture)
        first, second = ({launch.name for launch in shared.find(name)} for name in (one, other))
        if both := first & second:
            finding = self._causes.explain_apart(one, other)
            sentence = f"{one} and {other} of {self.name} share the kernel {', '.join(sorted(both))}, but must be apart"
            self._break(sentence, [*(tell_finding(finding) if finding else ())], "kernels")
        return True

    def fits(self, target: str = "") -> Literal[True]:
        """Assert that the program fits in the memory of a device.

        Args:
            target: The target, with its grid, or an empty string for the program's own target.

        Raises:
            BrokenError: The program does not fit, or does not compile.
            InspectError: The memory of a device of the target is unknown.
            TargetUnavailableError: This machine cannot compile for the target.
        """
        self._log.asserted = True
        capture = self.subject.capture(target, code=False) if target else self.capture
        memory = explain_memory(capture, "")
        # A CPU target stands for any machine with its instruction set, so the amount of memory is unknown.
        if memory.fits is None and not capture.error:
            message = f"the memory of {title(capture.target)} depends on the machine; assert a peak instead, as in "
            message += "step.peak < '9 GiB'"
            raise InspectError(message)
        if not memory.holds:
            causes = Causes(self.subject, capture)
            sentence = str(next(iter(memory.tell())))
            if memory.refusal:
                sentence = f"{sentence} What helps: {memory.refusal.remedy}"
            elif capture.error and not memory.needed_bytes:
                sentence = f"{sentence} {shorten(capture.error, 200)}"
            # The record belongs to the program's own target, so changes since the record are not listed for another
            # target.
            self._break(sentence, [*causes.tell_memory(())], "memory" if not target else "")
        return True

    def same_as(self, other: CompiledProgram) -> Literal[True]:
        """Assert that another program compiles to the same instructions, ignoring names.

        Args:
            other: The other program, compiled for the same target.

        Raises:
            BrokenError: The instructions differ.
        """
        self.begin()
        # A program that does not compile has no instructions, and two such programs would count as equal.
        other.require()
        difference = compare_captures(self.capture, other.capture, (self.subject.name, other.subject.name))
        if not difference.is_same_result:
            self._break(str(difference), [], "")
        return True
