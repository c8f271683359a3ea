"""The explanation of a removed operation: the pass that removed or rewrote it, its rule, and the replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.reasons import find_rules
from xla_inspect.questions.why.explanation import IMPORT, Finding

if TYPE_CHECKING:
    from xla_inspect.analysis import Histories, PassState
    from xla_inspect.analysis.reasons import AppliedRule, Decision
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.questions.why.why_context import Evidence

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "&", "or": "|", "xor": "^"}
_DEPTH, _STEPS, _LONG = 2, 6, 24


def explain_removed(evidence: Evidence, instruction: Instruction) -> Finding:
    """Explain a removed instruction: return the pass that removed or rewrote it, its rule, and the replacement."""
    removal = evidence.steps(instruction)[-1]
    number, place = evidence.histories.locate(instruction)
    names = {
        at: candidate.name
        for at, state in enumerate(evidence.histories.states)
        for candidate, own in state.numbers.items()
        if own == number
    }
    decisions = evidence.attempts.named(names.items())
    applied = _find_applied(evidence, decisions, place)
    messages = evidence.read_decisions(
        message
        for message in decisions
        if not removal.name or message.pass_name == removal.name or message.verdict == "done"
    )
    value = evidence.name_value(instruction)
    last = next(
        (candidate for candidate in evidence.histories.states[place].numbers if candidate.name == names[place]),
        instruction,
    )
    before = write_expression(evidence.histories.states[place].module, last)
    pass_name = removal.name or IMPORT
    if applied:
        how = _say_applied(evidence, applied, place, before)
        # A message about a rewrite rule has the name of its pass, so it takes precedence over the history.
        pass_name = applied[0].decision.pass_name or pass_name
    else:
        instead = ", ".join(evidence.name_kind(instruction) for instruction in removal.instead)
        # A pass that dumps several states may use names in its messages that it gave between two dumps.
        own = evidence.read_decisions(evidence.reasons.about(instruction.name))
        messages = messages or own
        cause = next(
            (
                message
                for message in (*messages, *own)
                if message.verdict == "done" and message.pass_name == removal.name
            ),
            None,
        )
        why = f": {cause.meaning.rstrip('.')}" if cause else ""
        creation = f" and created {instead} for the same operation" if instead and not cause else ""
        how = f"removed {before}{creation}{why}"
        # Without a message or a replacement, only the module before the pass can show the reason.
        if not (instead or cause):
            how += _say_reason(evidence, last, place)
    return Finding(
        "removed",
        (instruction.name,),
        f"{value} is no longer in the program: the pass {pass_name} {how}.",
        applied[0].decision.pipeline if applied else removal.pipeline,
        pass_name if applied else removal.name,
        evidence.show_line(instruction),
        (),
        messages,
        rule=next((application.rule for application in applied if application.rule), ""),
    )


def _say_reason(evidence: Evidence, instruction: Instruction, place: int) -> str:
    """Return the reason for a removal as the end of a sentence, or '' if the modules around the pass show none."""
    module = evidence.histories.states[place].module
    if not (module.users(instruction) or instruction.is_root):
        return ", which was unused"
    replacement = find_replacement(evidence.histories, instruction)
    if replacement is None:
        return ""
    same = replacement.opcode == instruction.opcode and replacement.shape == instruction.shape
    name = evidence.name_kind(replacement)
    return f" because {name} computes the same value" if same else f" and replaced it with {name}"


def find_replacement(histories: Histories, instruction: Instruction) -> Instruction | None:
    """Return the instruction of the optimized module that replaces a removed one, or None.

    It is the operand that the users of the removed instruction have after the pass, followed through later passes.
    """
    # Each replacement is from a later state, so there are at most as many as states.
    for _ in histories.states:
        number, place = histories.locate(instruction)
        if (final := histories.finally_is(number)) is not None:
            return final
        before, after = histories.states[place], histories.states[place + 1]
        old = next(candidate for candidate, own in before.numbers.items() if own == number)
        successor = _find_successor(before, after, old)
        if successor is None or histories.locate(successor)[0] == number:
            return None
        instruction = successor
    return None


def _find_successor(before: PassState, after: PassState, old: Instruction) -> Instruction | None:
    """Return the replacement of an instruction right after the pass that removed it, or None."""
    now = {number: candidate for candidate, number in after.numbers.items()}
    for user in before.module.users(old):
        new = now.get(before.numbers[user])
        # If a user changed its number of operands, their positions no longer correspond.
        if new is not None and len(new.operands) == len(user.operands):
            return after.module.operands(new)[user.operands.index(old.name)]
    # Only the root of the entry computation certainly has a counterpart in the next state.
    if not old.is_root or old.computation != before.module.entry.name:
        return None
    return after.module.entry.root


def _find_applied(evidence: Evidence, decisions: list[Decision], place: int) -> list[AppliedRule]:
    """Return the chain of rewrites that replaced an instruction, according to the log; empty without a message.

    Only the run of the pass that removed it counts. The same run may also have rewritten the replacement.
    """
    # A log may contain equal messages, so messages are compared by identity.
    own = {id(message) for message in decisions}
    rules = list(find_rules(evidence.reasons.decisions))
    starts = [at for at, application in enumerate(rules) if id(application.decision) in own]
    if not starts:
        return []
    states = {id(attempt.decision): attempt.state for attempt in evidence.attempts.known if id(attempt.decision) in own}
    at = next((at for at in starts if states[id(rules[at].decision)] == place), starts[-1])
    chain = [rules[at]]
    for later in rules[at + 1 :]:
        last = chain[-1].decision
        if later.decision.run != last.run or len(chain) == _STEPS:
            break
        # The next rewrite of the chain starts from the instruction that the last one created.
        if last.others and later.decision.instruction == last.others[0]:
            chain.append(later)
    return chain


def _say_applied(evidence: Evidence, applied: list[AppliedRule], place: int, before: str) -> str:
    """Return the replacement of an instruction and the rule of the pass, as the end of a sentence."""
    last = applied[-1].decision
    states = evidence.histories.states
    # The last state has no successor.
    module = states[min(place + 1, len(states) - 1)].module
    new = next(
        (instruction for instruction in module.walk() if last.others and instruction.name == last.others[0]), None
    )
    after = write_expression(module, new) if new is not None else ""
    opcode = last.words.rpartition(" ")[2]
    rules = list(dict.fromkeys(application.rule for application in applied if application.rule))
    unnamed = ", by a rule that its log does not name" if "algsimp" in applied[0].decision.pass_name else ""
    by = f", by its {'rules' if len(rules) > 1 else 'rule'} {' and '.join(rules)}" if rules else unnamed
    if applied[-1].decision.kind == "replaced-by-operand" and after:
        return f"replaced {before} with its operand {after}{by}"
    if after and after != before:
        return f"rewrote {before} as {after}{by}"
    name = f" {last.others[0]}" if last.others else ""
    return f"replaced {before} with the {opcode}{name}{by}"


def write_expression(module: Module, instruction: Instruction, depth: int = _DEPTH) -> str:
    """Return an instruction and its operands as the text of an expression, such as `x * (a + b)`.

    Args:
        module: The module that contains the instruction.
        instruction: The instruction.
        depth: The number of nested operations to write out. Deeper operands are written as names.
    """
    if instruction.opcode == "constant":
        # A large constant would make the expression unreadable.
        literal = instruction.literal or ""
        return literal if len(literal) <= _LONG else instruction.name
    if instruction.opcode == "parameter":
        return instruction.op_name or instruction.name
    operands = module.operands(instruction)
    # A broadcast adds no operation that a reader of the expression would miss.
    if instruction.opcode == "broadcast" and operands:
        return write_expression(module, operands[0], depth)
    if not depth:
        return instruction.name
    inner = [write_expression(module, operand, depth - 1) for operand in operands]
    sign = _OPERATORS.get(instruction.opcode)
    if sign and len(inner) == 2:  # noqa: PLR2004 - a binary operator
        # A side with an operator of its own needs parentheses.
        sides = [f"({side})" if " " in side else side for side in inner]
        return f"{sides[0]} {sign} {sides[1]}"
    return f"{instruction.opcode}({', '.join(inner)})"
