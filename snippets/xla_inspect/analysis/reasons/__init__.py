"""The compilers' reasons, as decisions about instructions: done, refused, tried or noted, most with an explanation."""

from xla_inspect.analysis.reasons.applied_rules import AppliedRule, find_rules
from xla_inspect.analysis.reasons.attempts import EMITTING, Attempt, Attempts
from xla_inspect.analysis.reasons.decision import TOPICS, Decision
from xla_inspect.analysis.reasons.messages import list_messages
from xla_inspect.analysis.reasons.reading import Reasons, read_reasons

__all__ = [
    "EMITTING",
    "TOPICS",
    "AppliedRule",
    "Attempt",
    "Attempts",
    "Decision",
    "Reasons",
    "find_rules",
    "list_messages",
    "read_reasons",
]
