"""The comparison of a program's results after each pass of its compilation, and with other ways to compute them."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import analysis
from xla_inspect.errors import InspectError
from xla_inspect.evaluation import FACTOR_BITS, MOST_DEVICES, return_evaluator, take_evaluator
from xla_inspect.questions.numbers.array_difference import check_shapes, compare_results, find_nonfinite
from xla_inspect.questions.numbers.chosen_outputs import keep_outputs
from xla_inspect.questions.numbers.device_layout import SPLIT, DeviceLayout, find_layout, name_partitioning
from xla_inspect.questions.numbers.difference_origin import find_first, find_origin
from xla_inspect.questions.numbers.finding import Nonfinite, NotRun, NumberChanges, Origin, Reference, Step, rank
from xla_inspect.questions.numbers.input_elements import find_causes
from xla_inspect.questions.numbers.module_runner import LAST, ModuleRunner, list_shapes, list_stages
from xla_inspect.questions.numbers.program_inputs import make_inputs, name_parameter
from xla_inspect.targets import find_entry, title

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.evaluation import Evaluator
    from xla_inspect.questions.numbers.array_difference import Results
    from xla_inspect.questions.numbers.finding import ArrayDifference
    from xla_inspect.questions.numbers.module_runner import ModuleStage

ONE_MODULE = (
    "The capture has the module of one stage only, so no pass can be compared. With "
    "XLA_FLAGS=--xla_dump_hlo_pass_re=.* a dump contains the module after each pass."
)
GLOBAL = (
    "Before the partitioning, modules have the shapes of the whole program and were not run, so the comparison starts "
    "after it, because {}. Every device gets identical inputs, unlike on real devices."
)
_NUMBERED = re.compile(r"\S*[.\d]\S*")


class NumberComparison(AbstractContextManager["NumberComparison"]):
    """The runs of a capture's modules with the same inputs, and the differences between their results.

    `make_inputs` explains the source of the inputs. Only the `rows` largest steps get an instruction, only the outputs
    with the given numbers are compared, and two comparisons may share an evaluator.
    """

    def __init__(  # noqa: PLR0913 - what to run, and how
        self,
        capture: Capture,
        source: Any,  # noqa: ANN401 - see `make_inputs`
        seed: int,
        rows: int,
        outputs: Sequence[int] | None = None,
        *,
        evaluator: Evaluator | None = None,
    ) -> None:
        """Choose the modules and make the inputs.

        Raises:
            InspectError: The program uses too many devices, or the inputs do not fit.
        """
        self.capture, self._rows, self._outputs = capture, rows, outputs
        self._stages = [*list_stages(capture)]
        final = self._stages[-1].module
        self._devices = final.num_partitions
        replicas = int(final.attributes.get("replica_count", "1"))
        if replicas > 1 or self._devices > MOST_DEVICES:
            kind = f"{replicas} replicas" if replicas > 1 else f"{self._devices} devices"
            message = f"{capture.program} uses {kind}; at most {MOST_DEVICES} devices without replicas are simulated"
            raise InspectError(message)
        self._notes: list[str] = []
        self.layout: DeviceLayout | None = None
        if self._devices > 1:
            layout = find_layout(self._stages, self._devices, outputs)
            if isinstance(layout, DeviceLayout):
                self.layout = layout
                self._stages[layout.start] = name_partitioning(capture, self._stages[layout.start])
                self._notes.append(SPLIT.format(self._devices))
            else:
                while list_shapes(self._stages[0].module) != list_shapes(final):
                    del self._stages[0]
                self._notes.append(GLOBAL.format(layout))
        self._stages = [replace(stage, module=keep_outputs(stage.module, outputs)) for stage in self._stages]
        self.inputs = make_inputs(self._stages[0].module, source, seed)
        self.steps: list[Step] = []
        self.states: list[tuple[ModuleStage, ModuleStage, Results]] = []
        """Each result after the module that ran before and the one that has it first; a step leads to each but one."""
        self.is_complete = False
        self._is_owner = evaluator is None
        self.evaluator = evaluator or take_evaluator(self._devices)
        arrays = [*self.inputs.arrays.values()]
        self.runner = ModuleRunner(self.evaluator, capture.target, arrays, self._devices, self.layout)

    def __exit__(self, *_: object) -> None:
        """Leave the evaluator to the next comparison."""
        if self._is_owner:
            return_evaluator(self.evaluator)

    def compare(self) -> NumberChanges:
        """Run all modules, and return the differences between their results."""
        errors: list[tuple[ModuleStage, str]] = []
        nonfinite: tuple[str, int, ModuleStage] | None = None
        waiting: list[ModuleStage] = []
        previous = self._stages[0]
        for stage in self._stages:
            waiting.append(stage)
            try:
                results = self.runner.run(stage.module, stage.step)
                if self.states:
                    check_shapes(self.states[-1][2], results)
            except InspectError as error:
                errors.append((stage, str(error)))
                continue
            if nonfinite is None and (kind := find_nonfinite(results)):
                nonfinite = (*kind, stage)
            if not self.states:
                self.states.append((stage, stage, results))
                if stage.step and errors:
                    self._notes.append(
                        f"The first module that ran is the one after {stage.step.removeprefix('after ')}."
                    )
            elif (difference := compare_results(self.states[-1][2], results)) is not None:
                total = compare_results(self.states[0][2], results)
                names, numbers = tuple(one.step for one in waiting), tuple(one.number for one in waiting)
                self.steps.append(Step(names, difference, total.relative if total else 0.0, Origin(), numbers))
                self.states.append((previous, stage, results))
            previous, waiting = stage, []
        self.is_complete = not waiting
        ranked = sorted((rank(step.difference) for step in self.steps), reverse=True)[: self._rows]
        self.steps = [
            self.locate_step(number) if rank(step.difference) in ranked else step
            for number, step in enumerate(self.steps)
        ]
        units = self._find_rounding(self._stages[-1]) if self.is_complete else None
        return NumberChanges(
            program=self.capture.program,
            asked="",
            target=self.capture.target,
            passes=sum(stage.step != LAST for stage in self._stages[1:]),
            modules=len(self._stages),
            ran=len(self._stages) - len(errors),
            steps=tuple(self.steps),
            total=compare_results(self.states[0][2], self.states[-1][2]) if self.states else None,
            missed=_join_errors(errors),
            nonfinite=self._find_nonfinite(*nonfinite) if nonfinite else None,
            matrix_units=units,
            inputs=self.inputs.description,
            notes=(*self._notes, *self.runner.notes.values()),
            absence=ONE_MODULE if len(self._stages) == 1 else "",
            shown=self._rows,
        )

    def _find_rounding(self, stage: ModuleStage) -> ArrayDifference | None:
        """Return the difference that matrix units make to the last result by rounding the factors of products."""
        if find_entry(self.capture.target).platform not in FACTOR_BITS or not self.capture.after:
            return None
        try:
            return compare_results(self.states[-1][2], self.runner.run_with_rounded_factors(stage.module))
        except InspectError as error:
            self._notes.append(f"The rounding of the target's matrix units is not known: {error}.")
            return None

    def locate_step(self, number: int) -> Step:
        """Return a step with the instruction at which its difference begins."""
        before, after, _ = self.states[number + 1]
        origin = find_origin(self.capture, before.module, after.module, self.runner)
        return replace(self.steps[number], origin=origin)

    def _find_nonfinite(self, kind: str, output: int, stage: ModuleStage) -> Nonfinite:
        origin = find_first(self.capture, stage.module, kind, self.runner)
        nonfinite = Nonfinite(kind, output, stage.step, origin, remains=find_nonfinite(self.states[-1][2]) is not None)
        if not origin.instruction:
            return nonfinite
        names = list(self.inputs.arrays)
        return replace(nonfinite, causes=find_causes(stage.module, origin.instruction, kind, names, self.runner))

    def refer(self, name: str, compute: Callable[[], Results]) -> Reference:
        """Return the differences of the first and the last module from the results of another way, with its name.

        The function that computes these results may raise any exception of the user's code.
        """
        first, last = self.states[0][2], self.states[-1][2]
        try:
            results = compute()
            check_shapes(last, results)
        except Exception as error:  # noqa: BLE001 - the user's code may fail on a CPU in any way
            reason = f"{type(error).__name__}: {error}" if not isinstance(error, InspectError) else str(error)
            return Reference(name, absence=reason.partition("\n")[0])
        return Reference(name, compare_results(results, first), compare_results(results, last))

    def run_capture(self, capture: Capture) -> Results:
        """Run the optimized module of another capture of the program with the same inputs.

        Raises:
            InspectError: The module has other parameters, or it did not run.
        """
        if not capture.after:
            message = f"it does not compile for {title(capture.target)}"
            raise InspectError(message)
        parameters = capture.module.entry.parameters
        arrays = self.inputs.arrays
        names = [*arrays] if len(parameters) == len(arrays) else [*map(name_parameter, parameters)]
        if not arrays.keys() >= {*names} or capture.module.num_partitions != self._devices:
            message = f"the program for {title(capture.target)} has other arguments"
            raise InspectError(message)
        layout = self.layout
        if layout and capture.target != self.capture.target:
            other = find_layout([*list_stages(capture)], self._devices, self._outputs)
            if not isinstance(other, DeviceLayout):
                message = f"of its program for {title(capture.target)}, {other}"
                raise InspectError(message)
            layout = other
        inputs = [arrays[name] for name in names]
        runner = ModuleRunner(self.evaluator, capture.target, inputs, self._devices, layout)
        return runner.run(keep_outputs(capture.module, self._outputs))


def explain_absence(capture: Capture) -> NumberChanges | None:
    """Return the answer about a capture that has no module to run, or None if it has one."""
    error = analysis.tell_failure(capture)
    if not error and (capture.before or capture.passes or capture.after):
        return None
    absence = f"The capture of {capture.program} contains no HLO module."
    return NumberChanges(program=capture.program, asked="", target=capture.target, absence=absence, error=error)


def _join_errors(errors: Sequence[tuple[ModuleStage, str]]) -> tuple[NotRun, ...]:
    """Return the reasons why modules did not run, the most frequent first; names with numbers do not separate them."""
    groups: dict[str, list[tuple[ModuleStage, str]]] = {}
    for stage, reason in errors:
        groups.setdefault(_NUMBERED.sub("", reason), []).append((stage, reason))
    missed = [
        NotRun(len(group), group[0][1], group[0][0].step, tuple(stage.number for stage, _ in group))
        for group in groups.values()
    ]
    return tuple(sorted(missed, key=lambda one: -one.modules))
