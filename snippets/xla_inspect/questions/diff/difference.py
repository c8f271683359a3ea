"""The difference of two captures, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.answers import Answer
from xla_inspect.questions.diff.times_by_line import TimeChange  # noqa: TC001 - as above
from xla_inspect.units import format_amount, format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers import Part


_LONGEST_TEXT = 60
_LARGEST_PERCENTAGE = 100
"""A change of this many times the first amount or more is shown without a percentage, which would be unreadable."""


@dataclass(frozen=True)
class Side:
    """One of the two compared programs.

    Attributes:
        name: Its name in the comparison: the subject, commit, target or options that distinguish the sides.
        program: The name of the program.
        target: The target's short name, with its grid.
        versions: The versions of the packages that compiled it.
        options: The compiler options that were set.
        compile_seconds: The recorded compile time, on the machine that compiled it.
        error: The compiler's error message, or an empty string if it succeeded.
        stage: The stage of the compared module.
    """

    name: str
    program: str
    target: str
    versions: Mapping[str, str]
    options: Mapping[str, str]
    compile_seconds: float
    error: str
    stage: Stage


@dataclass(frozen=True)
class Amount:
    """A number of one kind, such as kernels, on both sides.

    Attributes:
        name: The name of the number.
        unit: `bytes`, `flops`, or an empty string for a count.
        left: The number on the first side.
        right: The number on the second side.
    """

    name: str
    unit: str
    left: float
    right: float

    @property
    def is_same(self) -> bool:
        """True if both numbers are equal."""
        return self.left == self.right

    def show(self, number: float) -> str:
        """Return a number as text: bytes with their unit, anything else as in `4.19 M`."""
        return format_bytes(int(number)) if self.unit == "bytes" else format_amount(number)

    @property
    def change(self) -> str:
        """The difference from the first number to the second, as text; an empty string if they are equal."""
        if self.is_same:
            return ""
        by = self.right - self.left
        sign = "+" if by > 0 else "-"
        # A percentage of more than 10,000 % is hard to read, and one of zero is undefined.
        share = f" ({by / self.left:+.0%})" if self.left and abs(by) < _LARGEST_PERCENTAGE * self.left else ""
        return f"{sign}{self.show(abs(by))}{share}"


@dataclass(frozen=True)
class LineChange:
    """A count, or a number of bytes, for one line of Python on both sides.

    Attributes:
        what: The kind of kernel or of collective, or the purpose of the memory.
        file: The file, or an empty string if no line is known.
        line: The line number, on the second side if that side has the line.
        text: The source text, which identifies a line even if its number changed.
        left: Kernels, runs of collectives or bytes on the first side.
        right: Kernels, runs of collectives or bytes on the second side.
    """

    what: str
    file: str
    line: int
    text: str
    left: int
    right: int

    @property
    def where(self) -> str:
        """The place, as in `model.py:12`, and the shortened source text of the line, in one text."""
        # The folders of two checkouts differ, so only the file name is shown.
        place = f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else "no line known"
        return f"{place} {shorten(self.text, _LONGEST_TEXT)}".rstrip()


@dataclass(frozen=True)
class InstructionPair:
    """An instruction that differs between two modules.

    Attributes:
        left: Its text in the left module, or an empty string if the module lacks it.
        right: Its text in the right module, or an empty string if the module lacks it.
        where: The file and line of Python that it comes from, or an empty string.
    """

    left: str
    right: str
    where: str


@dataclass(frozen=True)
class Version:
    """The name of a package or option, and its version or value on both sides, empty on a side that lacks it."""

    name: str
    left: str
    right: str


@dataclass(frozen=True)
class Difference(Answer):
    """The comparison of two compiled programs.

    Attributes:
        left: The first side, the older one of two commits.
        right: The second.
        is_same_code: Whether the compiler received the same program, apart from source lines; None if unknown.
        is_same_result: Whether the compiled modules have the same instructions in the same order, apart from names and
            lines, and the same memory; None if the targets or the stages differ, so that they cannot be compared.
        versions: Packages with different versions.
        options: Compiler options with different values.
        added: The number of instructions that only the second side has; None if they cannot be compared.
        removed: The number of instructions that only the first side has; None if they cannot be compared.
        changed: The number of instructions that both sides have in different forms; None if they cannot be compared.
        amounts: Kernels, memory, work and exchanged bytes.
        unknown_work: The targets of the library calls whose operations are not known, so that the work lacks them.
        kinds: Kernels by kind, if their numbers differ.
        kernels: Kernels by kind and line, if their numbers differ.
        collectives: Runs of collectives by kind, axes and line, if their numbers differ.
        memory: Bytes at the peak by line, if they differ; empty without a memory plan.
        given_as: The form in which the compiler's inputs were compared: `StableHLO`, `HLO`, or an empty string if an
            input is missing.
        instructions: Instructions that differ between the compiler's inputs, or between two modules of one stage.
        is_compiler_known: Whether the versions of the packages are known for both sides.
        are_options_known: Whether the compiler options are known for both sides.
        times: The estimated time of a step and of its lines, or None if a side has no estimate, as on a CPU.
    """

    left: Side
    right: Side
    is_same_code: bool | None
    is_same_result: bool | None
    versions: tuple[Version, ...]
    options: tuple[Version, ...]
    added: int | None
    removed: int | None
    changed: int | None
    amounts: tuple[Amount, ...]
    kinds: tuple[Amount, ...]
    kernels: tuple[LineChange, ...]
    collectives: tuple[LineChange, ...]
    memory: tuple[LineChange, ...]
    given_as: str = "StableHLO"
    instructions: tuple[InstructionPair, ...] = ()
    is_compiler_known: bool = True
    are_options_known: bool = True
    times: TimeChange | None = None
    unknown_work: tuple[str, ...] = ()

    @property
    def is_counted_by_device(self) -> bool:
        """True if the amounts are kernels and bytes of one device, not instructions of a module."""
        return any(amount.name == "kernels" for amount in self.amounts)

    @property
    def holds(self) -> bool:
        """True if all compared results are the same; code, versions, options and compile time may differ."""
        has_same_amounts = all(amount.is_same for amount in (*self.amounts, *self.kinds))
        return (
            self.is_same_result is not False
            and not self.instructions
            and self.left.stage.name == self.right.stage.name
            and has_same_amounts
            and not (self.kernels or self.collectives or self.memory)
            and self.left.error == self.right.error
        )

    def tell(self) -> Iterator[Part]:
        """Yield the printed comparison: a summary, the cause, a table of numbers, and the changes by line."""
        from xla_inspect.questions.diff.rendering import render

        return render(self)
