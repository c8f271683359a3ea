"""The pass that removed or rewrote an operation of the program, its rule, and what is there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.reasons import find_rules
from xla_inspect.questions.why.explanation import Finding
from xla_inspect.questions.why.why_context import IMPORT

if TYPE_CHECKING:
    from xla_inspect.analysis import Histories, PassState
    from xla_inspect.analysis.reasons import AppliedRule, Decision
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.questions.why.why_context import Evidence

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "&", "or": "|", "xor": "^"}
_DEPTH, _STEPS, _LONG = 2, 6, 24


def explain_removed(evidence: Evidence, instruction: Instruction) -> Finding:
    """Return which pass removed an instruction, and by which rule.

    Args:
        evidence: The capture.
        instruction: What no later state has.
    """
    gone = evidence.steps(instruction)[-1]
    number, place = evidence.histories.locate(instruction)
    names = {
        at: each.name
        for at, state in enumerate(evidence.histories.states)
        for each, own in state.numbers.items()
        if own == number
    }
    decisions = evidence.attempts.named(names.items())
    applied = _find_applied(evidence, decisions, place)
    said = evidence.read_decisions(
        each for each in decisions if not gone.name or each.pass_name == gone.name or each.verdict == "done"
    )
    value = evidence.name_value(instruction)
    last = next((each for each in evidence.histories.states[place].numbers if each.name == names[place]), instruction)
    before = write_expression(evidence.histories.states[place].module, last)
    passed = gone.name or IMPORT
    if applied:
        how = _say_applied(evidence, applied, place, before)
        passed = applied[0].decision.pass_name or passed
    else:
        instead = ", ".join(evidence.name_kind(each) for each in gone.instead)
        # A pass that dumps several states speaks of the names that it gave in between.
        own = evidence.read_decisions(evidence.reasons.about(instruction.name))
        said = said or own
        done = next((each for each in (*said, *own) if each.verdict == "done" and each.pass_name == gone.name), None)
        why = f": {done.meaning.rstrip('.')}" if done else ""
        put = f"; of the same operation it made {instead}" if instead and not done else ""
        how = f"removed {before}{put}{why}"
        if not (instead or done):
            how += _say_reason(evidence, last, place)
    return Finding(
        "removed",
        (instruction.name,),
        f"{value} is no longer in the program: the pass {passed} {how}.",
        applied[0].decision.pipeline if applied else gone.pipeline,
        passed if applied else gone.name,
        evidence.show_line(instruction),
        (),
        said,
        rule=next((each.rule for each in applied if each.rule), ""),
    )


def _say_reason(evidence: Evidence, instruction: Instruction, place: int) -> str:
    """Return why an instruction could go, as far as the modules before and after show it."""
    module = evidence.histories.states[place].module
    if not (module.users(instruction) or instruction.is_root):
        return ", which nothing used"
    replacement = find_replacement(evidence.histories, instruction)
    if replacement is None:
        return ""
    same = replacement.opcode == instruction.opcode and replacement.shape == instruction.shape
    name = evidence.name_kind(replacement)
    return f", for {name} computes the same" if same else f", and {name} is there instead"


def find_replacement(histories: Histories, instruction: Instruction) -> Instruction | None:
    """Return the instruction of the optimized module that stands for one that was removed, or None where none does.

    It is what the readers of the removed one read after the pass, followed through the later passes.
    """
    for _ in histories.states:
        number, place = histories.locate(instruction)
        if (final := histories.finally_is(number)) is not None:
            return final
        before, after = histories.states[place], histories.states[place + 1]
        old = next(each for each, own in before.numbers.items() if own == number)
        successor = _find_successor(before, after, old)
        if successor is None or histories.locate(successor)[0] == number:
            return None
        instruction = successor
    return None


def _find_successor(before: PassState, after: PassState, old: Instruction) -> Instruction | None:
    """Return what stands for an instruction right after the pass that removed it."""
    now = {number: each for each, number in after.numbers.items()}
    for user in before.module.users(old):
        new = now.get(before.numbers[user])
        if new is not None and len(new.operands) == len(user.operands):
            return after.module.operands(new)[user.operands.index(old.name)]
    if not old.is_root or old.computation != before.module.entry.name:
        return None
    return after.module.entry.root


def _find_applied(evidence: Evidence, decisions: list[Decision], place: int) -> list[AppliedRule]:
    """Return the replacements that led away from an instruction, by the names that the log gives.

    Only those of the run that removed it: what stood in its place then may have been replaced in the same run.
    """
    own = {id(each) for each in decisions}
    rules = list(find_rules(evidence.reasons.decisions))
    starts = [at for at, each in enumerate(rules) if id(each.decision) in own]
    if not starts:
        return []
    states = {id(each.decision): each.state for each in evidence.attempts.known if id(each.decision) in own}
    at = next((at for at in starts if states[id(rules[at].decision)] == place), starts[-1])
    found = [rules[at]]
    for later in rules[at + 1 :]:
        last = found[-1].decision
        if later.decision.run != last.run or len(found) == _STEPS:
            break
        if last.others and later.decision.instruction == last.others[0]:
            found.append(later)
    return found


def _say_applied(evidence: Evidence, applied: list[AppliedRule], place: int, before: str) -> str:
    """Return what a pass put in the place of an instruction, by which rule, as the end of a sentence."""
    last = applied[-1].decision
    states = evidence.histories.states
    module = states[min(place + 1, len(states) - 1)].module
    new = next((each for each in module.walk() if last.others and each.name == last.others[0]), None)
    after = write_expression(module, new) if new is not None else ""
    opcode = last.words.rpartition(" ")[2]
    rules = list(dict.fromkeys(each.rule for each in applied if each.rule))
    unnamed = ", by a rule that its log does not name" if "algsimp" in applied[0].decision.pass_name else ""
    by = f", by its rule {' and '.join(rules)}" if rules else unnamed
    if applied[-1].decision.kind == "replaced-by-operand" and after:
        return f"replaced {before} by its operand {after}{by}"
    if after and after != before:
        return f"rewrote {before} as {after}{by}"
    name = f" {last.others[0]}" if last.others else ""
    return f"replaced {before} by the {opcode}{name}{by}"


def write_expression(module: Module, instruction: Instruction, depth: int = _DEPTH) -> str:
    """Return what an instruction computes, as one would write it, with what makes its operands.

    Args:
        module: The module that has it.
        instruction: The instruction.
        depth: How many operations deep; below that stand names.
    """
    if instruction.opcode == "constant":
        literal = instruction.literal or ""
        return literal if len(literal) <= _LONG else instruction.name
    if instruction.opcode == "parameter":
        return instruction.op_name or instruction.name
    operands = module.operands(instruction)
    if instruction.opcode == "broadcast" and operands:
        return write_expression(module, operands[0], depth)
    if not depth:
        return instruction.name
    inner = [write_expression(module, each, depth - 1) for each in operands]
    sign = _OPERATORS.get(instruction.opcode)
    if sign and len(inner) == 2:  # noqa: PLR2004 - of two operands
        sides = [f"({each})" if " " in each else each for each in inner]
        return f"{sides[0]} {sign} {sides[1]}"
    return f"{instruction.opcode}({', '.join(inner)})"
