"""The value in a question: its instruction, and the kernel of the optimized program that computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import HEAVY
from xla_inspect.questions.why.why_no_launch import place_value
from xla_inspect.questions.why.why_not_fused import MATMULS
from xla_inspect.questions.why.why_removed import explain_removed, find_replacement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.analysis import Launch
    from xla_inspect.hlo import Instruction
    from xla_inspect.questions.why.explanation import Finding
    from xla_inspect.questions.why.name_lookup import Selection
    from xla_inspect.questions.why.why_context import Evidence


def describe_value(
    evidence: Evidence, selection: Selection, value: Instruction | None, findings: Sequence[Finding]
) -> str:
    """Return a sentence about the value in a question, or an empty string if the first finding already describes it.

    Args:
        evidence: The capture.
        selection: The part of the program in the question.
        value: The instruction, of any state of the module, that computes the value, or None if there is none.
        findings: The explanations, the most important first.
    """
    if value is None:
        return ""
    first = findings[0]
    # A pass may have replaced the value with a new instruction of the same operation.
    final = evidence.histories.finally_is(evidence.histories.locate(value)[0]) or _find_same(evidence, value)
    is_answered = value.name in first.names or _is_about(evidence, selection, first, final)
    is_line = bool(selection.lines) and not selection.statements
    if is_answered and (is_line or selection.what.strip().removeprefix("%") in {value.name, *first.names}):
        return ""
    name = name_asked(evidence, selection, final or value)
    if final is not None:
        return f"{name} is {place_value(evidence, final)}."
    replacement = find_replacement(evidence.histories, value)
    now = ""
    if replacement is not None and evidence.kernels.holder(replacement) is not None:
        now = f"{evidence.name_kind(replacement)}, {place_value(evidence, replacement)}"
    if is_answered and (now or value.name in first.names):
        return f"{name} is now {now}." if now else ""
    removal = explain_removed(evidence, value).verdict.replace(evidence.name_value(value), name, 1)
    return f"{removal} Its replacement is {now}." if now else removal


def find_rewritten(evidence: Evidence, selection: Selection, last: Instruction | None) -> str:
    """Return the name of a line's last instruction if a pass removed it and no heavier work is left, else ""."""
    if last is None:
        return ""
    # The instructions of a selection are those that the optimized module still has.
    opcodes = {instruction.opcode for instruction in selection.instructions}
    # A heavy operation counts as rewritten if no operation of its kind remains, a light one if nothing heavy remains.
    kind = MATMULS if last.opcode in MATMULS else {last.opcode}
    if opcodes & (kind if last.opcode in HEAVY else {*HEAVY}):
        return ""
    is_removed = evidence.histories.finally_is(evidence.histories.states[0].numbers[last]) is None
    return last.name if is_removed and last in selection.removed else ""


def list_launches(evidence: Evidence, selection: Selection) -> list[Launch]:
    """Return the launches that compute a selection, first those whose main instruction is in the selection."""
    kernels = evidence.kernels
    chosen = set(selection.instructions)
    launches = dict.fromkeys(
        holder for instruction in selection.instructions if (holder := kernels.holder(instruction)) is not None
    )
    if not launches:
        # An instruction that only renames a value has no launch, so the launches of its neighbors compute it.
        for instruction in selection.instructions:
            for user in (*evidence.module.operands(instruction), *evidence.module.users(instruction)):
                if (holder := kernels.holder(user)) is not None:
                    launches.setdefault(holder)
    return sorted(
        launches,
        key=lambda launch: (
            kernels.hero(launch) not in chosen,
            launch.role == "copy",
            kernels.hero(launch).opcode not in HEAVY,
            -launch.instruction.shape.bytes,
        ),
    )


def name_asked(evidence: Evidence, selection: Selection, instruction: Instruction) -> str:
    """Return a phrase for an instruction with its name in the question, as in "`root` (sqrt.0, model.py:7)"."""
    # HLO text may write names with a `%`, which the user may have copied.
    word = selection.what.strip().removeprefix("%")
    if word == instruction.name or (selection.lines and not selection.statements):
        return evidence.name_kind(instruction)
    number = len(selection.instructions) + len(selection.removed)
    if not selection.statements and number > 1:
        return f"{evidence.name_kind(instruction)}, one of {number} instructions of `{word}`,"
    where = evidence.show_line(instruction).where
    now = f"now {instruction.name}" if selection.is_one else instruction.name
    return f"`{word}` ({', '.join(filter(None, (now, where)))})"


def _find_same(evidence: Evidence, value: Instruction) -> Instruction | None:
    """Return the instruction of the same operation that a pass created in the optimized module, or None."""
    # All instructions without metadata would seem to be the same operation.
    if value.op_name is None:
        return None
    # A pass that replaces an instruction copies its metadata, so the metadata identifies the operation.
    key = value.opcode, value.op_name, value.stack_frame
    same = (
        instruction
        for instruction in evidence.module.walk()
        if (instruction.opcode, instruction.op_name, instruction.stack_frame) == key
    )
    return next(same, None)


def _is_about(evidence: Evidence, selection: Selection, finding: Finding, final: Instruction | None) -> bool:
    """Return whether a finding is about the selection itself, not only about a kernel that contains it."""
    if finding.kind in {"collective", "removed", "argument"}:
        return True
    chosen = {*selection.instructions, *selection.removed}
    # A pass may have replaced the instruction, so its final form counts too.
    names = {instruction.name for instruction in chosen} | ({final.name} if final else set())
    launches = [launch for launch in evidence.kernels.launches if launch.name in finding.names]
    heroes = {evidence.kernels.hero(launch) for launch in launches}
    return bool(heroes & chosen or names & {*finding.names})
