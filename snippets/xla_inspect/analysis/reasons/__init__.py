"""The compilers' reasons, as decisions about instructions: done, refused, tried or noted, most with an explanation."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.analysis.reasons.applied_rules import AppliedRule, find_rules
    from xla_inspect.analysis.reasons.attempts import EMITTING, Attempt, Attempts
    from xla_inspect.analysis.reasons.decision import TOPICS, Decision
    from xla_inspect.analysis.reasons.messages import list_messages
    from xla_inspect.analysis.reasons.reading import Reasons, read_reasons
else:
    __getattr__ = lazy_names(__name__)
