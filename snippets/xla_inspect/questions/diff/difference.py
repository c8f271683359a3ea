"""The difference of two captures, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.answers import Answer
from xla_inspect.units import format_amount, format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.answers import Part


_LONGEST_TEXT = 60
_MANIFOLD = 100
"""From how many times as much on a percentage says nothing any more."""


@dataclass(frozen=True)
class Side:
    """One of the two.

    Attributes:
        name: What it is called: the subject, the commit, the target or the options by which they differ.
        program: The name of the program.
        target: The target's short name, with its grid.
        versions: The packages that made it.
        options: The compiler's options that were set.
        compile_seconds: What the compiler took, on the machine that compiled it.
        error: What the compiler said where it gave up, or an empty string.
        stage: The stage of the module that is compared.
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
    """A number on both sides.

    Attributes:
        name: What is counted.
        unit: `bytes`, `flops`, or an empty string for a count.
        left: On the first side.
        right: On the second.
    """

    name: str
    unit: str
    left: float
    right: float

    @property
    def is_same(self) -> bool:
        """True if both are the same."""
        return self.left == self.right

    def show(self, number: float) -> str:
        """Return a number in its unit."""
        return format_bytes(int(number)) if self.unit == "bytes" else format_amount(number)

    @property
    def change(self) -> str:
        """By how much the second differs from the first."""
        if self.is_same:
            return ""
        by = self.right - self.left
        sign = "+" if by > 0 else "-"
        share = f" ({by / self.left:+.0%})" if self.left and abs(by) < _MANIFOLD * self.left else ""
        return f"{sign}{self.show(abs(by))}{share}"


@dataclass(frozen=True)
class LineChange:
    """A count, or a number of bytes, for one line of Python on both sides.

    Attributes:
        what: The kind of kernel or of collective, or what lies in memory.
        file: The file, or an empty string where no line is known.
        line: The line, of the second side where it has it.
        text: What stands there, by which lines are known again though their numbers changed.
        left: Kernels, runs of collectives or bytes on the first side.
        right: On the second.
    """

    what: str
    file: str
    line: int
    text: str
    left: int
    right: int

    @property
    def where(self) -> str:
        """The line in one text."""
        place = f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else "no line known"
        return f"{place} {shorten(self.text, _LONGEST_TEXT)}".rstrip()


@dataclass(frozen=True)
class InstructionPair:
    """An instruction that differs between two modules; an empty string stands for what a side does not have."""

    left: str
    right: str
    where: str


@dataclass(frozen=True)
class Version:
    """A package or an option that differs; an empty string stands for what a side does not have."""

    name: str
    left: str
    right: str


@dataclass(frozen=True)
class Difference(Answer):
    """Two programs compared.

    Attributes:
        left: The first side, the older one of two commits.
        right: The second.
        is_same_code: Whether the compiler was given the same program, whatever the lines that it is from; None where
            nothing tells.
        is_same_result: Whether the compiler made the same of it, instruction by instruction, names and lines aside;
            None where the targets or the stages differ, whose instructions do not compare.
        versions: Packages that differ.
        options: Options of the compiler that differ.
        added: Instructions that only the second has; likewise None.
        removed: Instructions that only the first has; likewise None.
        changed: Instructions that both have and that differ; likewise None.
        amounts: Kernels, memory, work and exchanged bytes.
        kinds: Kernels by kind.
        kernels: Kernels by kind and line, those whose number differs.
        collectives: Runs of collectives by kind, axes and line, those whose number differs.
        memory: Bytes at the peak by line, those that differ; empty where no such attribution is at hand.
        given_as: The form in which the programs were compared as the compiler was given them: `StableHLO`, `HLO`, or an
            empty string where one is not at hand.
        instructions: Instructions that differ, of the programs as they were given, or of two modules of one stage.
        is_compiler_known: Whether both sides tell the packages that made them.
        are_options_known: Whether both sides tell the compiler's options.
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

    @property
    def is_counted_by_device(self) -> bool:
        """True if the counts are of one device, and not of modules from before the partitioner."""
        return any(each.name == "kernels" for each in self.amounts)

    @property
    def holds(self) -> bool:
        """True if both are the same; the time of the compile does not count."""
        counted = all(each.is_same for each in (*self.amounts, *self.kinds))
        return (
            self.is_same_result is not False
            and not self.instructions
            and self.left.stage.name == self.right.stage.name
            and counted
            and not (self.kernels or self.collectives or self.memory)
            and self.left.error == self.right.error
        )

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, why, the numbers, and what changed by line."""
        from xla_inspect.questions.diff.rendering import render

        return render(self)
