"""The places where each opcode occurs in a set of captures: the target, the stage and the Python expression."""

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
    """An instruction of an opcode at one stage of one compilation.

    Attributes:
        program: The name of the program.
        capture: The capture of the compilation.
        stage: `before` the first pass, `between` two passes, or `after` the last.
        instruction: The instruction.
        expression: The Python text that it came from, on one line, or an empty string.
    """

    program: str
    capture: Capture
    stage: Stage
    instruction: Instruction
    expression: str

    @property
    def made_by(self) -> str:
        """The first pass that added such an instruction, or an empty string if the compiler input has one."""
        opcode = self.instruction.opcode
        step = None if _write(opcode) in self.capture.before else find_pass(self.capture, opcode)
        return step.name if step else ""

    @property
    def removed_by(self) -> str:
        """The last pass that removed all such instructions, or an empty string if optimized HLO has one."""
        use, present = _write(self.instruction.opcode), _write(self.instruction.opcode) in self.capture.before
        if use in self.capture.after:
            return ""
        remover = ""
        for step in self.capture.passes:
            if present and use not in step.text:
                remover = step.name
            present = use in step.text
        return remover


def find_sightings(captures: Iterable[tuple[str, Capture]], calls: Mapping[str, str]) -> Sightings:
    """Return one instruction for each opcode, target and stage, where there is one.

    An instruction that comes from the expression in `calls` is preferred, then the shortest one.
    States between passes are searched only for opcodes that no input and no output for the target contains.

    Args:
        captures: The captures, each with the name of its program; targets count without their topologies.
        calls: The preferred Python expression by opcode.
    """
    sightings: Sightings = {}
    programs = [(program, capture, capture.target.partition(":")[0]) for program, capture in captures]
    for program, capture, target in programs:
        stages: tuple[tuple[Stage, Module], ...] = (("before", capture.unoptimized_module), ("after", capture.module))
        for stage, module in stages:
            _keep_best(sightings, target, _look(program, capture, stage, module, OPCODES), calls)
    for target in dict.fromkeys(target for _, _, target in programs):
        for opcode in sorted(OPCODES):
            if target in sightings.get(opcode, {}):
                continue
            for program, capture, its_target in programs:
                if its_target == target and (step := find_pass(capture, opcode)) is not None:
                    _keep_best(sightings, target, _look(program, capture, "between", step.module, {opcode}), calls)
    return sightings


def find_pass(capture: Capture, opcode: str) -> PassChange | None:
    """Return the first pass whose text contains an opcode, found without parsing, or None."""
    return next((step for step in capture.passes if _write(opcode) in step.text), None)


def _write(opcode: str) -> str:
    """Return the text by which a module uses an opcode."""
    return f" {opcode}("


def _look(program: str, capture: Capture, stage: Stage, module: Module, opcodes: Iterable[str]) -> Iterable[Sighting]:
    """Yield the instructions of some opcodes in a module."""
    expressions = Expressions(capture, module)
    for instruction in module.walk():
        if instruction.opcode in opcodes:
            yield Sighting(program, capture, stage, instruction, expressions.read(instruction))


def _keep_best(best: Sightings, target: str, sightings: Iterable[Sighting], calls: Mapping[str, str]) -> None:
    """Add sightings, and of two for the same opcode, target and stage keep the better one."""
    for new in sightings:
        opcode = new.instruction.opcode
        stages = best.setdefault(opcode, {}).setdefault(target, {})
        best_yet = stages.get(new.stage)
        if best_yet is None or _rank(new, calls.get(opcode)) < _rank(best_yet, calls.get(opcode)):
            stages[new.stage] = new


def _rank(sighting: Sighting, call: str | None) -> tuple[bool, int]:
    """Return a sort key that puts the better sighting first."""
    instruction = sighting.instruction
    size = len(instruction.shape.text) + sum(map(len, instruction.operands))
    return call is not None and sighting.expression != call, max(size, SHORTEST)


class Expressions:
    """The Python text behind the instructions of one module of a capture."""

    def __init__(self, capture: Capture, module: Module) -> None:
        """Store the module; its text is read on demand.

        Args:
            capture: The capture.
            module: The capture's module at one stage.
        """
        self.capture, self.module = capture, module

    def read(self, instruction: Instruction) -> str:
        """Return the Python text behind an instruction, on one line, or an empty string.

        An instruction without a frame uses the frame of the instruction that calls its computation.
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
        return {callee: caller for caller in self.module.walk() for callee in caller.called}

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The Python text by the last part of an operation's name, where all operations of that name share it."""
        texts_by_name: dict[str, set[str]] = {}
        for name, frames in read_names(self.capture.stablehlo_locations).items():
            texts = {find_expression(self.capture, Operation("", "", frame)) for frame in frames}
            texts_by_name.setdefault(name.rpartition("/")[2], set()).update(texts - {""})
        return {name: min(texts) for name, texts in texts_by_name.items() if len(texts) == 1}
