"""Where in a set of captures each opcode occurs: on which target, at which stage, and from which Python expression."""

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
    """An instruction of an opcode, as one compile had it at one stage.

    Attributes:
        program: The name of the program that was compiled.
        capture: The compile.
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
        """The pass that first left such an instruction, or an empty string when the compiler got one."""
        opcode = self.instruction.opcode
        step = None if _write(opcode) in self.capture.before else find_pass(self.capture, opcode)
        return step.name if step else ""

    @property
    def removed_by(self) -> str:
        """The pass that left no such instruction any more, or an empty string when there is one to the end."""
        written, present = _write(self.instruction.opcode), _write(self.instruction.opcode) in self.capture.before
        if written in self.capture.after:
            return ""
        remover = ""
        for step in self.capture.passes:
            if present and written not in step.text:
                remover = step.name
            present = written in step.text
        return remover


def find_sightings(captures: Iterable[tuple[str, Capture]], calls: Mapping[str, str]) -> Sightings:
    """Return opcode to target to stage to one instruction, where there is any.

    Of many the one that came from the expression which `calls` names is taken, then the shortest.
    Between passes only what is in no program's input or output for the target is looked for.

    Args:
        captures: The captures, each with the name of its program; targets count without their topologies.
        calls: Opcode to the Python expression that is to be found.
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
    """Return the first pass that left an instruction of an opcode, found in the text without parsing, or None."""
    return next((step for step in capture.passes if _write(opcode) in step.text), None)


def _write(opcode: str) -> str:
    """Return what stands in a module's text where an opcode is used."""
    return f" {opcode}("


def _look(program: str, capture: Capture, stage: Stage, module: Module, opcodes: Iterable[str]) -> Iterable[Sighting]:
    """Yield the instructions of some opcodes in a module."""
    expressions = Expressions(capture, module)
    for instruction in module.walk():
        if instruction.opcode in opcodes:
            yield Sighting(program, capture, stage, instruction, expressions.read(instruction))


def _keep_best(best: Sightings, target: str, sightings: Iterable[Sighting], calls: Mapping[str, str]) -> None:
    """Add sightings to those that are known, and of two for one opcode, target and stage keep the better one."""
    for new in sightings:
        opcode = new.instruction.opcode
        stages = best.setdefault(opcode, {}).setdefault(target, {})
        known = stages.get(new.stage)
        if known is None or _rank(new, calls.get(opcode)) < _rank(known, calls.get(opcode)):
            stages[new.stage] = new


def _rank(sighting: Sighting, call: str | None) -> tuple[bool, int]:
    """Return what sorts the better sighting first."""
    instruction = sighting.instruction
    size = len(instruction.shape.text) + sum(map(len, instruction.operands))
    return call is not None and sighting.expression != call, max(size, SHORTEST)


class Expressions:
    """The Python text behind the instructions of one module of a capture."""

    def __init__(self, capture: Capture, module: Module) -> None:
        """Read nothing yet.

        Args:
            capture: The capture.
            module: A stage of it.
        """
        self.capture, self.module = capture, module

    def read(self, instruction: Instruction) -> str:
        """Return the text that an instruction came from, on one line, or an empty string.

        An instruction without a frame has that of the instruction whose computation it belongs to.
        """
        # A partitioned module numbers its frames anew, so there the operation's name is looked up in StableHLO.
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
        return {called: caller for caller in self.module.walk() for called in caller.called}

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The last part of an operation's name to its text, where operations of that name have one only."""
        texts_by_name: dict[str, set[str]] = {}
        for name, frames in read_names(self.capture.stablehlo_locations).items():
            texts = {find_expression(self.capture, Operation("", "", frame)) for frame in frames}
            texts_by_name.setdefault(name.rpartition("/")[2], set()).update(texts - {""})
        return {name: min(texts) for name, texts in texts_by_name.items() if len(texts) == 1}
