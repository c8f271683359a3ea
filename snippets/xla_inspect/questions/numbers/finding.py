"""The answers about numbers: the passes that change a program's results, and the differences of two programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part

USUAL_ROWS = 10
"""The usual number of passes in the table."""


@dataclass(frozen=True)
class ArrayDifference:
    """The difference between two results of one program.

    Attributes:
        output: The number of the output with the largest difference, from 0.
        elements: The number of its elements that differ.
        absolute: The largest absolute difference of two finite elements.
        relative: This difference as a share of the largest magnitude of the output before, or after if all were 0.
        ulps: The largest number of representable numbers between two finite elements; for integers, their difference.
        nonfinite: The number of elements that are finite in one result only, or NaN in one result only.
    """

    output: int
    elements: int
    absolute: float
    relative: float
    ulps: float
    nonfinite: int


@dataclass(frozen=True)
class Origin:
    """The instruction at which a difference, a NaN or an infinity begins.

    Attributes:
        instruction: Its name, or an empty string if it is not known.
        opcode: Its operation.
        where: Its line of Python, as in `model.py:12`, or an empty string.
        text: The source text of the line.
        note: The reason why the instruction is not known, or an empty string.
    """

    instruction: str = ""
    opcode: str = ""
    where: str = ""
    text: str = ""
    note: str = ""


@dataclass(frozen=True)
class Step:
    """A step between two modules that ran with different results.

    Attributes:
        passes: The passes of the step, as in `simplification/algsimp`; several if modules between them did not run.
        difference: The difference between the results of the two modules.
        since_start: The relative difference from the first module that ran; later steps may undo earlier ones.
        origin: The instruction at which the difference begins.
        states: The numbers of the passes among those that changed the module, from 1.
    """

    passes: tuple[str, ...]
    difference: ArrayDifference
    since_start: float
    origin: Origin
    states: tuple[int, ...] = ()


@dataclass(frozen=True)
class NotRun:
    """Modules that did not run for one reason.

    Attributes:
        modules: Their number.
        reason: The reason.
        first: The pass before the first of them.
        states: The numbers of the passes before them among those that changed the module, from 1; 0 before any pass.
    """

    modules: int
    reason: str
    first: str
    states: tuple[int, ...] = ()


@dataclass(frozen=True)
class InputElement:
    """An element of an input.

    Attributes:
        argument: The name of the argument in the user's code.
        index: Its index, of one number for each dimension.
        value: Its value as text.
    """

    argument: str
    index: tuple[int, ...]
    value: str


@dataclass(frozen=True)
class Causes:
    """The first elements of the inputs that lead to a NaN or an infinity.

    Attributes:
        elements: The elements, of which each is needed; empty if they are not known.
        note: A sentence, if no element leads to it, they are not known, or there are more; or an empty string.
    """

    elements: tuple[InputElement, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Nonfinite:
    """The first module whose result has a NaN or an infinity.

    Attributes:
        kind: `NaN` or `infinity`.
        output: The number of the output, from 0.
        after: The pass that made the module, or an empty string for the first module that ran.
        origin: The instruction at which it begins.
        causes: The elements of the inputs that lead to its first element there.
        remains: Whether the result of the last module that ran has a NaN or an infinity, too.
    """

    kind: str
    output: int
    after: str
    origin: Origin
    causes: Causes = Causes()
    remains: bool = True


@dataclass(frozen=True)
class Reference:
    """Another way to compute the same results, and the errors of the modules compared with it.

    Attributes:
        name: The way, as in `the function run eagerly`.
        first: The difference of the first module that ran; None if all of its numbers are equal.
        last: The difference of the last module that ran; None if all of its numbers are equal.
        absence: The reason why there is no comparison, or an empty string.
    """

    name: str
    first: ArrayDifference | None = None
    last: ArrayDifference | None = None
    absence: str = ""


@dataclass(frozen=True)
class NumberTrial:
    """A compile with another option, and the difference of its result from the one before the largest step.

    Attributes:
        option: The option of XLA, as in `xla_allow_excess_precision=false`.
        relative: The relative difference from the result before the step; None if it did not run.
        keeps: Whether the option keeps the result: the same bits, or less than a tenth of the difference.
        error: The reason why it did not run or does not keep the result, or an empty string.
    """

    option: str
    relative: float | None
    keeps: bool
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class NumberChanges(Answer):
    """The passes of a compilation that change the bits of a program's results on given inputs.

    Attributes:
        program: The name of the program.
        asked: The subject and options, as on the command line.
        target: The target's short name, with its grid.
        passes: The number of passes that changed the module, from the first module that is compared.
        modules: The number of different modules, of which each was run.
        ran: The number of modules that ran.
        steps: The steps that changed bits, in order.
        total: The difference between the results of the first and the last module that ran; None with the same bits.
        missed: The modules that did not run.
        nonfinite: The first NaN or infinity in a result, or None.
        references: Other ways to compute the results.
        trials: Compiles with other options.
        matrix_units: The difference that the matrix units of a real device make to the last result, because they round
            the float32 factors of products; None if they change nothing, or the target is a CPU.
        inputs: A sentence about the inputs.
        notes: Sentences about what the comparison leaves out.
        absence: The reason why nothing could be compared, or an empty string.
        shown: The number of steps to show.
        error: The compiler's error message, or an empty string if it succeeded.
    """

    program: str
    asked: str
    target: str
    passes: int = 0
    modules: int = 0
    ran: int = 0
    steps: tuple[Step, ...] = ()
    total: ArrayDifference | None = None
    missed: tuple[NotRun, ...] = ()
    nonfinite: Nonfinite | None = None
    references: tuple[Reference, ...] = ()
    trials: tuple[NumberTrial, ...] = ()
    matrix_units: ArrayDifference | None = None
    inputs: str = ""
    notes: tuple[str, ...] = ()
    absence: str = ""
    shown: int = USUAL_ROWS
    error: str = ""

    @property
    def largest(self) -> Step | None:
        """The step with the largest difference, or None if no step changes bits."""
        return max(self.steps, key=lambda step: rank(step.difference), default=None)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the largest step in one sentence, a table of steps, and the comparisons."""
        from xla_inspect.questions.numbers.rendering import render

        return render(self)


def rank(difference: ArrayDifference) -> tuple[bool, float, float]:
    """Return a key that sorts differences by size: those with a NaN or an infinity are the largest."""
    return bool(difference.nonfinite), difference.relative, difference.absolute
