"""The value that a question names: its instruction, and where the optimized program computes it."""

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
    """Return what became of the value that a question names, or an empty string where the first finding says it.

    Args:
        evidence: The capture.
        selection: The part of the program that the question names.
        value: The instruction of any state whose result that part is, or None where it has none.
        findings: The answers.
    """
    if value is None:
        return ""
    first = findings[0]
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
    gone = explain_removed(evidence, value).verdict.replace(evidence.name_value(value), name, 1)
    return f"{gone} What stands for it is {now}." if now else gone


def find_rewritten(evidence: Evidence, selection: Selection, last: Instruction | None) -> str:
    """Return the name of what a line says last where a pass removed that and left no weightier work of the line.

    Args:
        evidence: The capture.
        selection: The part of the program that the question names.
        last: The last instruction of the line that computes something, or None.
    """
    if last is None:
        return ""
    left = {each.opcode for each in selection.instructions}
    # A weighty operation was rewritten if none of its kind is left, any other if nothing weighty is.
    kind = MATMULS if last.opcode in MATMULS else {last.opcode}
    if left & (kind if last.opcode in HEAVY else {*HEAVY}):
        return ""
    gone = evidence.histories.finally_is(evidence.histories.states[0].numbers[last]) is None
    return last.name if gone and last in selection.removed else ""


def list_launches(evidence: Evidence, selection: Selection) -> list[Launch]:
    """Return the launches that a selection is computed in, those first that are mostly about it."""
    kernels = evidence.kernels
    chosen = set(selection.instructions)
    found = dict.fromkeys(holder for each in selection.instructions if (holder := kernels.holder(each)) is not None)
    if not found:
        # What only renames a value is computed where that is.
        for each in selection.instructions:
            for user in (*evidence.module.operands(each), *evidence.module.users(each)):
                if (holder := kernels.holder(user)) is not None:
                    found.setdefault(holder)
    return sorted(
        found,
        key=lambda each: (
            kernels.hero(each) not in chosen,
            each.role == "copy",
            kernels.hero(each).opcode not in HEAVY,
            -each.instruction.shape.bytes,
        ),
    )


def name_asked(evidence: Evidence, selection: Selection, instruction: Instruction) -> str:
    """Return an instruction with what it was called in the question, as in "`root` (sqrt.0, model.py:7)"."""
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
    """Return what a pass made anew of the same operation in the optimized module, or None."""
    if value.op_name is None:
        return None
    key = value.opcode, value.op_name, value.stack_frame
    same = (each for each in evidence.module.walk() if (each.opcode, each.op_name, each.stack_frame) == key)
    return next(same, None)


def _is_about(evidence: Evidence, selection: Selection, finding: Finding, final: Instruction | None) -> bool:
    """Return whether a finding is about what was named, and not about a kernel that only holds it."""
    if finding.kind in {"collective", "removed", "argument"}:
        return True
    chosen = {*selection.instructions, *selection.removed}
    names = {each.name for each in chosen} | ({final.name} if final else set())
    launches = [each for each in evidence.kernels.launches if each.name in finding.names]
    heroes = {evidence.kernels.hero(each) for each in launches}
    return bool(heroes & chosen or names & {*finding.names})
