"""The data behind explanations: one capture with its lines, histories, kernels and compiler messages."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import (
    Histories,
    KernelParts,
    SourceLine,
    find_frame,
    find_lines,
    is_fusion,
    parse_buffers,
    read_jaxpr_lines,
    read_line,
    read_stablehlo_lines,
    show_place,
)
from xla_inspect.analysis.reasons import EMITTING, Attempts, read_reasons
from xla_inspect.errors import HloSyntaxError
from xla_inspect.questions.kernels import list_fused
from xla_inspect.questions.why.explanation import IMPORT, LineOf, PassStep, Reason, WhyPart
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from xla_inspect.analysis import Launch, Step
    from xla_inspect.analysis.reasons import Decision, Reasons
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

_DONOR = re.compile(r"\((?P<number>\d+),")
_MOST_LINES = 12
_RANK = {"refused": 0, "done": 1, "noted": 2, "tried": 3}


class Evidence:
    """One capture with the data that explanations need. Each part is computed when it is first used.

    Args:
        capture: The capture, with its passes and, if they were requested, its compiler messages.
    """

    def __init__(self, capture: Capture) -> None:
        """Store the capture."""
        self.capture = capture
        self.module = capture.module

    @cached_property
    def lines(self) -> Mapping[Instruction, SourceLine]:
        """The line of Python of each instruction of the optimized module, if it has one."""
        return find_lines(self.capture, self.module)

    @cached_property
    def histories(self) -> Histories:
        """The history of each instruction through the captured passes."""
        return Histories(self.capture)

    @cached_property
    def reasons(self) -> Reasons:
        """The decisions that the captured compiler log records."""
        return read_reasons(self.capture)

    @cached_property
    def attempts(self) -> Attempts:
        """The messages of the compiler, by instruction of the optimized module."""
        return Attempts(self.histories, self.reasons)

    @cached_property
    def kernels(self) -> KernelParts:
        """The launches of the optimized module, with the instructions that each contains."""
        return KernelParts(self.module)

    @cached_property
    def donated(self) -> frozenset[int]:
        """The numbers of the arguments whose memory a result reuses."""
        return frozenset(self.module.aliases.values())

    @cached_property
    def offered(self) -> frozenset[int]:
        """The numbers of the donated arguments whose memory no result reuses."""
        text = self.module.attributes.get("buffer_donor", "")
        # A donated argument whose memory a result reuses is an alias in the module, not a donor.
        return frozenset(int(match["number"]) for match in _DONOR.finditer(text)) - self.donated

    def find_line(self, instruction: Instruction) -> SourceLine | None:
        """Return the line of an instruction of any state, or of an adjacent launch if it has none, or None."""
        # A removed instruction is not in the optimized module, so its own frame is used instead.
        if (line := self.lines.get(instruction)) is not None:
            return line
        frame = find_frame(self.capture, instruction)
        if frame is not None:
            return SourceLine(frame.file, frame.line, "")
        # Without a line of its own or of its fusion, the lines of adjacent launches are the best approximation.
        launch = self.kernels.holder(instruction)
        around = [] if launch is None else [launch, *self.kernels.readers(launch), *self.kernels.feeders(launch)]
        lines = (
            line for launch in around for own in (launch.scheduled, launch.instruction) if (line := self.lines.get(own))
        )
        return next(lines, None)

    def show_line(self, instruction: Instruction | None) -> LineOf:
        """Return the line of an instruction as a `LineOf`, with empty texts if the line is unknown."""
        line = self.find_line(instruction) if instruction is not None else None
        return LineOf(show_place(line), read_line(self.capture, line)) if line else LineOf("", "")

    def name(self, launch: Launch) -> str:
        """Return the name of a launch with its line, as in `fusion.3 (model.py:12)`."""
        hero = self.kernels.hero(launch)
        where = self.show_line(hero).where or self.show_line(launch.scheduled).where
        return f"{launch.name} ({where})" if where else launch.name

    def name_value(self, instruction: Instruction) -> str:
        """Return the name of a value for a sentence: the argument, or the instruction that computes it."""
        if instruction.opcode == "parameter":
            if instruction.computation == self.module.entry.name:
                return f"the argument {instruction.op_name or instruction.name}"
            return f"the parameter {instruction.name} of {instruction.computation}"
        if instruction.opcode in {"constant", "iota"}:
            return f"the {instruction.opcode} {instruction.name}"
        where = self.show_line(instruction).where
        return f"{instruction.name} ({where})" if where else instruction.name

    def name_kind(self, instruction: Instruction) -> str:
        """Return the name of an instruction, with its opcode unless the name contains it."""
        value = self.name_value(instruction)
        # Many names begin with the opcode, which would then appear twice.
        is_clear = value.startswith("the ") or instruction.opcode.split("-")[0] in instruction.name
        return value if is_clear else f"the {instruction.opcode} {value}"

    def steps(self, instruction: Instruction) -> tuple[Step, ...]:
        """Return the changes that passes made to an instruction of any state."""
        return self.histories.tell(instruction)

    def is_about(self, reason: Reason, instructions: Collection[Instruction]) -> bool:
        """Return whether one of some instructions of the optimized module is the main subject of a message."""
        return any(
            attempt.first & self.attempts.names_at(attempt.state, instructions)
            for attempt in self.attempts.known
            if (attempt.decision.words, attempt.decision.instruction, attempt.decision.others)
            == (reason.words, reason.instruction, reason.others)
        )

    def read_decisions(self, decisions: Iterable[Decision]) -> tuple[Reason, ...]:
        """Return unique decisions as `Reason`s, refusals first and later decisions before earlier ones."""
        unique: dict[tuple[str, ...], Decision] = {}
        for decision in decisions:
            key = decision.verdict, decision.pass_name, decision.instruction, decision.sentence or decision.words
            # A repeated decision moves to the end, so that its latest occurrence counts.
            unique.pop(key, None)
            unique[key] = decision
        # A message with an explanation is more useful than one without.
        latest = list(unique.values())[::-1]
        ranked = sorted(
            latest,
            key=lambda decision: (
                not decision.kind and decision.verdict == "noted",
                decision.source in EMITTING,
                _RANK[decision.verdict],
                not decision.sentence,
                # A message that names both instructions is more specific than a message about one of them.
                not decision.others,
            ),
        )
        names = [field.name for field in fields(Reason)]
        return tuple(Reason(**{name: getattr(decision, name) for name in names}) for decision in ranked)

    def describe(self, instruction: Instruction) -> WhyPart:
        """Return all facts about an instruction of the optimized module, or about a removed one, for an answer."""
        holder = self.kernels.holder(instruction)
        scheduled = holder.scheduled if holder else instruction
        # A removed instruction has no memory, inputs or readers in the optimized module.
        is_left = instruction in self.histories.states[-1].numbers
        inputs, readers = self._find_neighbours(scheduled, holder) if is_left else ((), ())
        # A fusion is created late, so the history of its main instruction tells more.
        hero = self.kernels.hero(holder) if holder and is_fusion(instruction) else instruction
        return WhyPart(
            name=instruction.name,
            opcode=" ".join(filter(None, (instruction.opcode, instruction.fusion_kind))),
            shape=instruction.shape.text,
            line=self.show_line(hero),
            op_name=hero.op_name or "",
            equation=self._find_text(read_jaxpr_lines(self.capture.jaxpr_locations), hero),
            stablehlo=self._find_text(read_stablehlo_lines(self.capture.stablehlo_locations), hero),
            kernel=holder.name if holder else "",
            members=self._list_members(holder.instruction) if holder else (),
            memory=self._find_memory(scheduled.name) if is_left else "",
            fed_by=inputs,
            read_by=readers,
            followed=hero.name,
            steps=tuple(map(read_step, self.histories.tell_way(hero))),
            is_left=is_left,
        )

    def _find_neighbours(
        self, instruction: Instruction, holder: Launch | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if holder is None:
            before, after = self.module.operands(instruction), self.module.users(instruction)
            return tuple(dict.fromkeys(map(self.name_value, before))), tuple(dict.fromkeys(map(self.name_value, after)))
        inputs = [*map(self.name_value, self.kernels.arguments(holder)), *map(self.name, self.kernels.feeders(holder))]
        readers = [self.name(launch) for launch in self.kernels.readers(holder)]
        if self.kernels.is_returned(holder):
            inside = holder.scheduled.computation != self.module.entry.name
            readers.append(f"the result of {holder.scheduled.computation}" if inside else "the program's result")
        return tuple(dict.fromkeys(inputs)), tuple(dict.fromkeys(readers))

    def _list_members(self, instruction: Instruction) -> tuple[str, ...]:
        rows = list_fused(self.capture, instruction, self.lines)
        return tuple(
            f"{row.where or 'no line'}: "
            + ", ".join(f"{count} {name}" if count > 1 else name for name, count in row.opcodes.items())
            for row in rows
        )

    def _find_memory(self, name: str) -> str:
        try:
            assignment = parse_buffers(self.capture.buffers)
        # A memory plan in an unknown form must not prevent the rest of the answer.
        except HloSyntaxError:
            return ""
        for allocation, value in assignment.values():
            # An index denotes an element of a tuple, not the value itself.
            if value.instruction != name or value.index:
                continue
            sharing = list(
                dict.fromkeys(
                    neighbor.instruction
                    for neighbor in allocation.values
                    if neighbor.instruction != name
                    # Values share memory only if their ranges of bytes overlap.
                    and neighbor.offset < value.offset + value.size
                    and value.offset < neighbor.offset + neighbor.size
                )
            )
            shared = f", shared with {', '.join(sharing[:3])}" if sharing else ""
            more = f" and {len(sharing) - 3} more" if len(sharing) > 3 else ""  # noqa: PLR2004 - as above
            return f"{format_bytes(value.size)} of the {allocation.kind} allocation {allocation.number}{shared}{more}"
        return ""

    def _find_text(self, lines: Sequence[tuple[str, tuple[str, int] | None]], instruction: Instruction) -> str:
        """Return the text of an earlier stage's statement from the line of an instruction, or an empty string."""
        line = self.find_line(instruction)
        if line is None:
            return ""
        starts = [at for at, (text, place) in enumerate(lines) if place == (line.file, line.number) and " = " in text]
        # One line may have several statements, and the name of the primitive selects the right one.
        primitive = re.split(r"[\[(]", (instruction.op_name or "").rpartition("/")[2])[0]
        at = next((at for at in starts if primitive and primitive in lines[at][0]), starts[0] if starts else None)
        if at is None:
            return ""
        words = [lines[at][0].strip()]
        for text, _ in lines[at + 1 : at + _MOST_LINES]:
            whole = " ".join(words)
            # A statement of a jaxpr may continue over several lines until its brackets are closed.
            if whole.count("[") <= whole.count("]"):
                break
            words.append(text.strip())
        return " ".join(words)


def tell_maker(step: Step) -> str:
    """Return a clause about the origin of an instruction: the original program, or the pass that created it."""
    if step.deed == "imported":
        return "it is part of the original program"
    return f"the pass {step.name} created it" if step.name else "a pass created it"


def read_step(step: Step) -> PassStep:
    """Return the change of a pass as a `PassStep`, with `import` or `?` if no pass is known."""
    return PassStep(step.pipeline, step.name or (IMPORT if step.deed == "imported" else "?"), step.words)
