"""The algebraic simplifier's rules that rewrote instructions: derived, because the log lists only attempted rules.

The simplifier names a rule, looks whether it fits, and replaces the instruction if so; the log then says by what. So
the rule is taken to be the last that was tried on an instruction before it was replaced, in the same run, provided that
the rule makes what came out. Some rules have no name in the log: what they did stands in the decision's sentence.
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
"""What an operand is that may be a number, the same for each element."""

_FUNCTIONS = {"exp": "exponential", "sqrt": "sqrt", "rsqrt": "rsqrt", "abs": "abs", "pow": "power", "ln": "log"}
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "&&": "and", "||": "or", "^": "xor"}
_LOOSEST_FIRST = ("||", "&&", "^", "+", "-", "*", "/")
_SIGN = re.compile(r"\|\||&&|[-+*/^()]")


@dataclass(frozen=True)
class AppliedRule:
    """A replacement of an instruction, and the rule that made it.

    Attributes:
        decision: The replacement, as the log says it.
        rule: The rule, in the compiler's own notation, or an empty string where none that was tried makes this.
    """

    decision: Decision
    rule: str

    @property
    def sentence(self) -> str:
        """A sentence about the rewrite, with the rule if it follows from the log."""
        if not self.rule:
            return self.decision.sentence
        return f"{self.decision.sentence} The rule that was tried on it just before: {self.rule}."


def find_rules(decisions: Iterable[Decision]) -> Iterator[AppliedRule]:
    """Yield each replacement among decisions, in order, with the rule that made it."""
    tried: dict[tuple[int, str], str] = {}
    for decision in decisions:
        at = decision.run, decision.instruction
        if decision.kind.startswith("rule-tried"):
            tried[at] = decision.words
        elif decision.source == _REPLACED:
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
        # A rule without a name puts the zero of `x * 0` right after `1 * x` was tried: a number may be due to it.
        return decision.kind in _BY_OPERAND and decision.words.rpartition(" ")[2] not in _NUMBERS
    return decision.words.rpartition(" ")[2] == operator


def _find_operator(expression: str) -> str:
    """Return the opcode that computes an expression, or an empty string where it is a name or a number."""
    if re.fullmatch(r"\|\w+\|", expression):
        return "abs"
    depth = 0
    outside = []
    for sign in _SIGN.findall(expression):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign not in "()":
            outside.append(sign)
    for sign in _LOOSEST_FIRST:
        if sign in outside:
            return _OPERATORS[sign]
    match = re.match(r"(\w+)\(", expression)
    return _FUNCTIONS.get(match[1], match[1]) if match else ""
