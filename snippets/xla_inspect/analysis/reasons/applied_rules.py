"""The algebraic simplifier's rules that rewrote instructions, which are inferred because the log lists only attempts.

The simplifier logs a rule, checks whether it applies, and if so replaces the instruction and logs the replacement. The
applied rule is therefore the last rule that was tried on an instruction before its replacement in the same run, if the
rule produces that replacement. Some rules have no name in the log; the decision's sentence describes their effect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xla_inspect.analysis.reasons.decision import Decision

_REPLACED = "dfs_hlo_visitor_with_default"
_BY_OPERAND = frozenset({"replaced-by-operand", "element-of-tuple"})

_NUMBERS = frozenset({"constant", "broadcast"})
"""The opcodes of operands that may be one number for all elements."""

_FUNCTIONS = {"exp": "exponential", "sqrt": "sqrt", "rsqrt": "rsqrt", "abs": "abs", "pow": "power", "ln": "log"}
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "&&": "and", "||": "or", "^": "xor"}
_LOOSEST_FIRST = ("||", "&&", "^", "+", "-", "*", "/")
_SIGN = re.compile(r"\|\||&&|[-+*/^()]")


@dataclass(frozen=True)
class AppliedRule:
    """A replacement of an instruction, and the rule that made it if it is known.

    Attributes:
        decision: The replacement, as logged.
        rule: The rule in the compiler's own notation, or an empty string if no attempted rule produces the replacement.
    """

    decision: Decision
    rule: str

    @property
    def sentence(self) -> str:
        """A sentence about the rewrite, which includes the rule if it is known."""
        if not self.rule:
            return self.decision.sentence
        return f"{self.decision.sentence} The rule that was tried on it just before: {self.rule}."


def find_rules(decisions: Iterable[Decision]) -> Iterator[AppliedRule]:
    """Yield each replacement among some decisions, in order, with the rule that caused it if that is known."""
    tried: dict[tuple[int, str], str] = {}
    for decision in decisions:
        at = decision.run, decision.instruction
        if decision.kind.startswith("rule-tried"):
            tried[at] = decision.words
        elif decision.source == _REPLACED:
            # An attempt explains at most one replacement.
            rule = tried.pop(at, "")
            yield AppliedRule(decision, rule if _makes(rule, decision) else "")


def _makes(rule: str, decision: Decision) -> bool:
    """Return whether the right side of a rule matches the replacement of an instruction."""
    _, arrow, right = rule.partition("=>")
    if not arrow:
        return False
    right = right.partition("], for")[0].strip(" ]")
    operator = _find_operator(right)
    if not operator:
        # An unnamed rule replaces `x * 0` by zero right after the attempt of `1 * x`, so a number proves nothing.
        return decision.kind in _BY_OPERAND and decision.words.rpartition(" ")[2] not in _NUMBERS
    return decision.words.rpartition(" ")[2] == operator


def _find_operator(expression: str) -> str:
    """Return the opcode of an expression's outermost operation, or an empty string for a name or a number."""
    # Single bars mean the absolute value, but double bars are the operator "or".
    if re.fullmatch(r"\|\w+\|", expression):
        return "abs"
    depth = 0
    outside = []
    for sign in _SIGN.findall(expression):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign not in "()":
            outside.append(sign)
    # The operator that binds the loosest is the outermost operation.
    for sign in _LOOSEST_FIRST:
        if sign in outside:
            return _OPERATORS[sign]
    match = re.match(r"(\w+)\(", expression)
    return _FUNCTIONS.get(match[1], match[1]) if match else ""
