"""Two programs compared: whether the code, the compiler, its options or the target differ, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import Stage  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.answers.answer import Answer
from xla_inspect.answers.answer_parts import Table
from xla_inspect.plural import plural
from xla_inspect.targets import title
from xla_inspect.units import format_amount, format_bytes, format_duration, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.answers.answer_parts import Part

_LONGEST_NAME = 15
_LONGEST_KIND = 26
_LONGEST_TEXT = 60
_MOST_ROWS = 20
_MANIFOLD = 100
"""From how many times as much on a percentage says nothing any more."""
_BY_KIND = {"kernels", "instructions"}
_WEIGHTIEST = ("kernels", "peak memory", "collectives", "bytes exchanged", "flops", "bytes moved")
"""What the sentence names first of what differs."""


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
        """Whether both are the same."""
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
    """How often something is there by a line of Python, or how many bytes it is, on both sides.

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
        """Whether what is counted is of one device, and not of modules before that."""
        return any(each.name == "kernels" for each in self.amounts)

    @property
    def holds(self) -> bool:
        """Whether both are the same; how long the compile took does not count."""
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
        yield self._sum_up()
        yield self._explain()
        for side in (self.left, self.right):
            if side.error:
                yield f"{side.name} does not compile: {shorten(side.error.partition(chr(10))[0], 200)}"
        if self.is_same_result:
            return
        heads = tuple(_shorten_front(side.name) for side in (self.left, self.right))
        shown = tuple((each.left, each.right, each.where) for each in self.instructions[:_MOST_ROWS])
        if shown:
            yield Table((*heads, "line"), shown, (), "Instructions that differ")
        if left := self.instructions[_MOST_ROWS:]:
            yield f"{plural(len(left), 'more instruction')} that differ; --json has all."
        rows = []
        for each in self.amounts:
            rows += [self._write_row(each)] if each.left or each.right else []
            rows += [self._write_row(kind, "  ") for kind in self.kinds] if each.name in _BY_KIND else []
        if self.left.compile_seconds or self.right.compile_seconds:
            before, after = (format_duration(side.compile_seconds) for side in (self.left, self.right))
            rows.append(("compile, this machine", before, after, ""))
        counted = "per device" if self.is_counted_by_device else "in the module"
        yield Table((counted, *heads, "change"), tuple(rows), (1, 2, 3))
        yield from _list_changes("Kernels by line", self.kernels, heads, "kernel")
        yield from _list_changes("Collectives by line, times that they run", self.collectives, heads, "collective")
        yield from _list_changes("Memory at the peak by line", self.memory, heads, "what", in_bytes=True)

    def _write_row(self, each: Amount, indent: str = "") -> tuple[str, str, str, str]:
        return (f"{indent}{each.name}", each.show(each.left), each.show(each.right), each.change)

    def _sum_up(self) -> str:
        same = self.left.program == self.right.program
        program = self.left.program if same else f"{self.left.program} and {self.right.program}"
        said = f"{program}, {self.left.name} -> {self.right.name}"
        if by_module := self._sum_up_modules():
            return f"{said}: {by_module}."
        if self.is_same_result and self.holds:
            return f"{said}: the same, instruction by instruction."
        if self.holds:
            return f"{said}: nothing that is counted differs."
        differing = [each for each in self.amounts if not each.is_same]
        if differing:
            order = {name: at for at, name in enumerate(_WEIGHTIEST)}
            differing.sort(key=lambda each: order.get(each.name, len(order)))
            return f"{said}: {'; '.join(f'{each.name.strip()} {_change(each)}' for each in differing[:4])}."
        if self.kernels or self.collectives or self.memory:
            return f"{said}: as many kernels, as many bytes, and some of them for other lines."
        return f"{said}: as many kernels and bytes, and {self._count_instructions()}."

    def _sum_up_modules(self) -> str:
        """Return how two modules differ that are compared by their instructions, or an empty string."""
        lacking = [side.name for side in (self.left, self.right) if side.stage.name == "none"]
        if lacking:
            return f"{' and '.join(lacking)} left no optimized module, so nothing is counted"
        counts = next((each for each in self.amounts if each.name == "instructions"), None)
        if counts and self.left.stage.name != self.right.stage.name:
            return f"two stages of a compile, {counts.left:,.0f} and {plural(int(counts.right), 'instruction')}"
        if not self.instructions:
            return ""
        first = self.instructions[0]
        where = f" ({first.where})" if first.where else ""
        what = plural(len(self.instructions), "instruction")
        more = "" if len(self.instructions) == 1 else "first "
        return f"the programs differ in {what}, {more}{first.left or 'none'} -> {first.right or 'none'}{where}"

    def _count_instructions(self) -> str:
        parts = [
            plural(number or 0, "instruction") + f" {verb}"
            for number, verb in ((self.added, "came"), (self.removed, "went"), (self.changed, "changed"))
            if number
        ]
        return ", ".join(parts) or "the instructions stand in another order"

    def _explain(self) -> str:
        told = [
            {
                True: f"Your code is the same: the compiler was given the same {self.given_as}.",
                False: f"Your code differs: the compiler was given other {self.given_as}.",
                None: "Whether your code is the same is not known: a side lacks the module as the compiler got it.",
            }[self.is_same_code]
        ]
        stages = [side.stage.title for side in (self.left, self.right)]
        if stages != ["optimized", "optimized"] and not (self.left.error or self.right.error):
            same = stages[0] == stages[1]
            told.append(f"Both modules are {stages[0]}." if same else f"The modules are {stages[0]}, and {stages[1]}.")
        if self.left.target != self.right.target and "unknown" not in {self.left.target, self.right.target}:
            told.append(f"The targets are {title(self.left.target)} and {title(self.right.target)}.")
        for what, differing in (("The compiler", self.versions), ("Its options", self.options)):
            verb = "differs" if what == "The compiler" else "differ"
            if differing and (self.is_compiler_known if what == "The compiler" else self.are_options_known):
                each = ", ".join(f"{one.name} {one.left or 'none'} -> {one.right or 'none'}" for one in differing)
                told.append(f"{what} {verb}: {each}.")
        told += self._explain_unknown()
        if self.added is not None and (self.added or self.removed or self.changed):
            told.append(f"In the {self._name_module()} {self._count_instructions()}.")
        return " ".join(told)

    def _name_module(self) -> str:
        return "optimized program" if self.left.stage.is_final and self.right.stage.is_final else "module"

    def _explain_unknown(self) -> Iterator[str]:
        """Yield that compiler and options are the same, or which of them is not known."""
        unknown = [
            name
            for name, known in (("compiler", self.is_compiler_known), ("options", self.are_options_known))
            if not known
        ]
        if unknown:
            yield f"The files do not tell the {' and the '.join(unknown)}."
        elif not (self.versions or self.options) and self.left.target == self.right.target != "unknown":
            yield "Compiler and options are the same."


def _change(each: Amount) -> str:
    """Return both numbers, or by how much they differ where they look the same."""
    left, right = each.show(each.left), each.show(each.right)
    return f"{left} -> {right}" if left != right else each.change


def _shorten_front(name: str) -> str:
    """Return a name that fits above a column: of a long one the end, where paths differ."""
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _list_changes(
    name: str, changes: Sequence[LineChange], heads: tuple[str, ...], what: str, *, in_bytes: bool = False
) -> Iterator[Part]:
    """Yield the lines where something came or went, those that changed most first."""
    if not changes:
        return
    ordered = sorted(changes, key=lambda each: -abs(each.right - each.left))
    show = format_bytes if in_bytes else str
    rows = tuple(
        (show(each.left), show(each.right), shorten(each.what, _LONGEST_KIND), each.where)
        for each in ordered[:_MOST_ROWS]
    )
    yield Table((*heads, what, "line"), rows, (0, 1), name)
    if len(ordered) > _MOST_ROWS:
        yield f"{plural(len(ordered) - _MOST_ROWS, 'more line')} with smaller changes; --json has all."
