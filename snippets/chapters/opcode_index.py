"""An index of the opcodes in a set of captures, by target and stage, with the Python expression of each sighting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from xla_inspect.analysis import Operation, find_expression, read_names
from xla_inspect.hlo import OPCODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.captured import Capture, PassChange
    from xla_inspect.hlo import Instruction, Module

type Stage = Literal["before", "between", "after"]
type Sightings = dict[str, dict[str, dict[Stage, Sighting]]]

SHORTEST = 40


@dataclass(frozen=True)
class Sighting:
    """An instruction with a given opcode, from one compilation at one stage.

    Attributes:
        program: The name of the program.
        capture: The capture of the compilation.
        stage: `before` the first pass, `between` two passes, or `after` the last pass.
        instruction: The instruction.
        expression: The Python expression that it comes from, on one line, or an empty string.
    """

    program: str
    capture: Capture
    stage: Stage
    instruction: Instruction
    expression: str

    @property
    def made_by(self) -> str:
        """The first pass that created an instruction with the opcode, or an empty string if the input contains one."""
        opcode = self.instruction.opcode
        step = None if _write(opcode) in self.capture.before else find_pass(self.capture, opcode)
        return step.name if step else ""

    @property
    def removed_by(self) -> str:
        """The pass that removed the last instruction with the opcode, or an empty string if one remains to the end."""
        spelling, present = _write(self.instruction.opcode), _write(self.instruction.opcode) in self.capture.before
        if spelling in self.capture.after:
            return ""
        remover = ""
        # An opcode may vanish and return, so the last removal counts.
        for step in self.capture.passes:
            if present and spelling not in step.text:
                remover = step.name
            present = spelling in step.text
        return remover


def find_sightings(captures: Iterable[tuple[str, Capture]], calls: Mapping[str, str]) -> Sightings:
    """Return one sighting for each opcode, target and stage that has any.

    Instructions from the expression in `calls` are preferred, then the shortest. The modules between passes are only
    searched for opcodes that no program has before or after the passes on that target.

    Args:
        captures: The captures, each with the name of its program; targets are compared without their topologies.
        calls: The preferred Python expression of each opcode.
    """
    sightings: Sightings = {}
    # Sharded programs have targets with a topology, which count as the same target.
    programs = [(program, capture, capture.target.partition(":")[0]) for program, capture in captures]
    for program, capture, target in programs:
        stages: tuple[tuple[Stage, Module], ...] = (("before", capture.unoptimized_module), ("after", capture.module))
        for stage, module in stages:
            _keep_best(sightings, target, _look(program, capture, stage, module, OPCODES), calls)
    # Modules between passes are expensive to parse, so their text is searched first.
    for target in dict.fromkeys(target for _, _, target in programs):
        for opcode in sorted(OPCODES):
            if target in sightings.get(opcode, {}):
                continue
            for program, capture, its_target in programs:
                if its_target == target and (step := find_pass(capture, opcode)) is not None:
                    _keep_best(sightings, target, _look(program, capture, "between", step.module, {opcode}), calls)
    return sightings


def find_pass(capture: Capture, opcode: str) -> PassChange | None:
    """Return the first pass after which the module's text contains an opcode, or None. The text is not parsed."""
    return next((step for step in capture.passes if _write(opcode) in step.text), None)


def _write(opcode: str) -> str:
    """Return the text that identifies an instruction with an opcode in the text of a module."""
    # The blank and the parenthesis exclude names of instructions and longer opcodes.
    return f" {opcode}("


def _look(program: str, capture: Capture, stage: Stage, module: Module, opcodes: Iterable[str]) -> Iterable[Sighting]:
    """Yield a sighting for each instruction of a module that has one of the opcodes."""
    expressions = Expressions(capture, module)
    for instruction in module.walk():
        if instruction.opcode in opcodes:
            yield Sighting(program, capture, stage, instruction, expressions.read(instruction))


def _keep_best(best: Sightings, target: str, sightings: Iterable[Sighting], calls: Mapping[str, str]) -> None:
    """Add sightings to an index, keeping the better of two for the same opcode, target and stage."""
    for new in sightings:
        opcode = new.instruction.opcode
        stages = best.setdefault(opcode, {}).setdefault(target, {})
        current = stages.get(new.stage)
        if current is None or _rank(new, calls.get(opcode)) < _rank(current, calls.get(opcode)):
            stages[new.stage] = new


def _rank(sighting: Sighting, call: str | None) -> tuple[bool, int]:
    """Return the sort key that puts the better sighting first: from the preferred call, then with a shorter line."""
    instruction = sighting.instruction
    size = len(instruction.shape.text) + sum(map(len, instruction.operands))
    # All short lines are equally readable, so they rank the same and the first program wins.
    return call is not None and sighting.expression != call, max(size, SHORTEST)


class Expressions:
    """The Python expressions behind the instructions of one module of a capture."""

    def __init__(self, capture: Capture, module: Module) -> None:
        """Store the arguments; expressions are read when they are needed.

        Args:
            capture: The capture.
            module: A module of the capture, at any stage.
        """
        self.capture, self.module = capture, module

    def read(self, instruction: Instruction) -> str:
        """Return the expression that an instruction comes from, on one line, or an empty string.

        An instruction without a stack frame uses the frame of the instruction that calls its computation.
        """
        # A partitioned module renumbers its frames, so the operation's name is looked up in StableHLO instead.
        if self.capture.module.num_partitions > 1:
            return self._by_name.get((instruction.op_name or "").rpartition("/")[2], "")
        at: Instruction | None = instruction
        while at is not None:
            if frames := self.capture.frames.get(at.stack_frame or 0, ()):
                return find_expression(self.capture, Operation("", "", frames[0]))
            at = self._callers.get(at.computation)
        return ""

    @cached_property
    def _callers(self) -> dict[str, Instruction]:
        return {computation: caller for caller in self.module.walk() for computation in caller.called}

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """Expressions by the last part of an operation's name; names whose operations have several are left out."""
        texts_by_name: dict[str, set[str]] = {}
        for name, frames in read_names(self.capture.stablehlo_locations).items():
            texts = {find_expression(self.capture, Operation("", "", frame)) for frame in frames}
            # An operation without an expression does not make the name ambiguous.
            texts_by_name.setdefault(name.rpartition("/")[2], set()).update(texts - {""})
        return {name: min(texts) for name, texts in texts_by_name.items() if len(texts) == 1}
