"""Assertions about the results of a compiled program, whose modules run on this machine's CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from xla_inspect.analysis import close_brackets
from xla_inspect.budgets.bound import read_amount
from xla_inspect.budgets.program_numbers import ProgramNumbers
from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.questions.numbers import (
    WAYS,
    NotComparedError,
    compare_numbers,
    compare_outputs,
    find_outputs,
    list_outputs,
    rank,
    tell_limits,
    tell_missed,
)
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.questions.numbers import ArrayDifference, NumberChanges

__tracebackhide__ = True
_ROWS, _LONGEST = 4, 200
_UNITS = {"ulps": "ulps", "relative": "relative error", "absolute": "absolute error"}


class ResultAssertions(ProgramNumbers):
    """The assertions about a program's results: compared with other ways to compute them, and between passes."""

    def same_numbers_as(  # noqa: PLR0913 - three limits, and the inputs
        self,
        other: str | ProgramNumbers | Callable[..., Any],
        *,
        ulp: float | None = None,
        relative: float | None = None,
        absolute: float | None = None,
        inputs: Any = "random",  # noqa: ANN401 - a path, arrays, or a word
        seed: int = 0,
    ) -> Literal[True]:
        """Assert that the program computes the same numbers as a function run eagerly, another program or target.

        Without a limit, all bits must be equal; otherwise, each output must be within every given limit. Results of
        another floating-point type are first rounded to the program's type.

        Args:
            other: A function of the same arguments, `eager` for the program's own function, `x64` for this function in
                float64, another compiled program, or a target.
            ulp: The largest allowed number of representable numbers between two elements.
            relative: The largest allowed difference as a share of the largest magnitude of the output.
            absolute: The largest allowed difference.
            inputs: `random`, the path of a file that `numpy.savez` wrote, or arrays by name or number of the argument.
            seed: The seed of random inputs.

        Raises:
            BrokenError: The numbers differ, or one of the programs cannot be run on this CPU.
            InspectError: The target does not exist, or the inputs do not fit the program.
        """
        self.begin()
        options = {"ulps": ulp, "relative": relative, "absolute": absolute}
        limits = {name: _read_limit(limit, name) for name, limit in options.items() if limit is not None}
        if not (isinstance(other, str | ProgramNumbers) or callable(other)):
            message = f"other has the type {type(other).__name__}; pass a function, eager, x64, a program or a target"
            raise InspectError(message)
        if isinstance(other, str) and other not in WAYS:
            other = ProgramNumbers(self.subject, self.subject.name_target(other))
        if isinstance(other, ProgramNumbers):
            other.require()
        name = _name_other(other)
        way = other.capture if isinstance(other, ProgramNumbers) else other
        try:
            differences, origin = compare_outputs(self.subject, self.capture, way, inputs=inputs, seed=seed)
        except NotComparedError as error:
            self._break(f"{self.name} cannot be compared with {name}: {error}", [], "")
        limits = limits or {"ulps": 0}
        wrong = {number: text for number, one in enumerate(differences) if (text := _tell_excess(one, limits))}
        if wrong:
            rows = [f"    {self._name_output(number)}: {text}" for number, text in [*wrong.items()][:_ROWS]]
            for program in (self, other) if isinstance(other, ProgramNumbers) else (self,):
                changes = _run_passes(program, [*wrong], _ROWS, inputs=inputs, seed=seed)
                rows += [f"  The passes of {program.name}:", *self._tell_passes(changes, [*wrong])]
            count = f"{plural(len(wrong), 'output')} of {len(differences)}"
            sentence = f"{self.name} does not compute the same numbers as {name} ({count})"
            self._break(sentence, [*rows, f"  {origin}", f"  {tell_limits(self.capture.target)}"], "")
        return True

    def no_pass_changes(
        self,
        output: str | int = "",
        *,
        more_than: float = 0,
        inputs: Any = "random",  # noqa: ANN401 - as in `same_numbers_as`
        seed: int = 0,
    ) -> Literal[True]:
        """Assert that no pass of the compiler changes an output by more than a relative error, and that all can be run.

        Args:
            output: The output by its path in the result, as in `loss`, `metrics.loss` or `[0]`; all without it.
            more_than: The largest allowed change as a share of the output's largest magnitude; 0 allows no other bit.
            inputs: As in `same_numbers_as`.
            seed: The seed of random inputs.

        Raises:
            BrokenError: A pass changes the output by more, or a module between two passes cannot be run on this CPU.
            InspectError: There is no such output (the message lists those that exist), or the inputs do not fit.
        """
        self.begin()
        least = _read_limit(more_than, "more_than")
        outputs = None if output == "" else find_outputs(self.capture, output)
        changes = _run_passes(self, outputs, 0, inputs=inputs, seed=seed)
        differences = [step.difference for step in changes.steps]
        excess = [one for one in differences if not least or one.nonfinite or one.relative > least]
        if not excess and changes.ran and not changes.missed and not changes.absence:
            return True
        chosen = f"the output {output}" if outputs else "an output"
        if excess:
            changes = _run_passes(self, outputs, _ROWS, inputs=inputs, seed=seed)
            passes = plural(len(excess), "pass", "passes")
            size = f"by a relative error of more than {least:g}" if least else "in some bits"
            verb = "changes" if len(excess) == 1 else "change"
            sentence = f"{passes} of {self.name} {verb} {chosen} {size}, but none may"
        else:
            sentence = f"{self.name}: a pass may change {chosen}, because not all passes can be compared"
        rows = [*self._tell_passes(changes, outputs), f"  {changes.inputs}", f"  {tell_limits(self.capture.target)}"]
        self._break(sentence, rows, "")
        return True

    def _tell_passes(self, changes: NumberChanges, outputs: Sequence[int] | None) -> Iterator[str]:
        """Yield lines on the passes with the largest changes, on tried options, and on modules that did not run."""
        if not changes.steps and changes.ran:
            yield "    No pass that could be compared changes a bit."
        for step in sorted(changes.steps, key=lambda step: rank(step.difference), reverse=True)[:_ROWS]:
            number = outputs[step.difference.output] if outputs else step.difference.output
            several = "one of the passes " if len(step.passes) > 1 else ""
            size = _show_sizes(step.difference)
            yield f"    {several}{', '.join(step.passes)}: {size} in {self._name_output(number)}"
            origin = step.origin
            code = f", {origin.where} `{close_brackets(origin.text)}`" if origin.where else ""
            yield f"      begins at {origin.instruction}{code}" if origin.instruction else f"      {origin.note}"
        for trial in changes.trials:
            verb = "prevents" if trial.keeps else "does not prevent"
            reason = f" ({shorten(trial.error, _LONGEST)})" if trial.error else ""
            yield f"    The option {trial.option} {verb} the largest of these changes{reason}."
        yield from (f"  {line}" for line in (*tell_missed(changes), changes.absence, changes.error) if line)

    def _name_output(self, number: int) -> str:
        return list_outputs(self.capture)[number] or "the result"


def _read_limit(value: object, name: str) -> float:
    if (limit := read_amount(value, "", name)) < 0:
        message = f"{name} is negative, so no result could be within it: {value!r:.60}"
        raise InspectError(message)
    return limit


def _run_passes(
    program: ProgramNumbers,
    outputs: Sequence[int] | None,
    rows: int,
    **source: Any,  # noqa: ANN401 - the inputs and the seed, as in `same_numbers_as`
) -> NumberChanges:
    """Return the changes by the passes; with rows, also the instructions of the largest changes, and tried options."""
    subject, target, tried = program.subject, program.capture.target, rows > 0 and program.subject.call is not None
    return compare_numbers(subject, target, rows=rows, against=["none"], tried=tried, outputs=outputs, **source)


def _tell_excess(difference: ArrayDifference | None, limits: Mapping[str, float]) -> str:
    """Return the sizes of a difference that exceeds a limit, and the limits, or an empty string."""
    if not difference or (not difference.nonfinite and all(getattr(difference, key) <= limits[key] for key in limits)):
        return ""
    required = ", ".join(f"{_UNITS[name]} <= {limit:g}" for name, limit in limits.items())
    return f"{_show_sizes(difference)}; required: {required}"


def _show_sizes(difference: ArrayDifference) -> str:
    if difference.nonfinite:
        return f"a NaN or an infinity on one side only, in {plural(difference.nonfinite, 'element')}"
    sizes = f"relative error {difference.relative:.2g}, absolute error {difference.absolute:.2g}"
    return f"{sizes}, {plural(round(difference.ulps), 'ulp')}, in {plural(difference.elements, 'element')}"


def _name_other(other: object) -> str:
    if isinstance(other, ProgramNumbers):
        return other.name
    return WAYS[other] if isinstance(other, str) else f"{getattr(other, '__name__', type(other).__name__)} run eagerly"
