"""The reason why a pass did not fuse two kernels, as a clause of a sentence."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from xla_inspect.analysis.reasons import list_messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.questions.why.explanation import Reason

_COSTS = re.compile(r"(?:reckons|estimates) (?P<fused>[\d.]+) µs .* and (?P<apart>[\d.]+) µs ")
_END = re.compile(r"(?<=[\w)])[.:] ")
_START = re.compile(r"(?:An?|Neither|No|Nothing|One|Only|Such|The|Together,?)\b")
"""The first words of a message that are written in lower case inside a sentence, unlike `XLA` or a name."""


def write_clause(reason: Reason, first: str, second: str) -> str:
    """Return the reason for a refusal as a clause that follows `does not fuse A into B because `.

    Args:
        reason: The refusal.
        first: The current name of the kernel that would be fused.
        second: The current name of the kernel that would contain it.
    """
    if costs := _COSTS.search(reason.sentence) if reason.kind == "costs-when-fused" else None:
        fused, apart = (f"{float(costs[name]):.3g}" for name in ("fused", "apart"))
        # Two different estimates must not look equal because of rounding.
        if fused == apart:
            fused, apart = (f"{float(costs[name]):.5g}" for name in ("fused", "apart"))
        return f"its cost model estimates {fused} µs for the fused kernel and {apart} µs for two"
    if clause := _list_clauses().get(reason.kind):
        return clause
    clause = _END.split(reason.meaning.rstrip("."))[0]
    # The message has the names at the time of the pass, which later passes may have changed.
    for name, now in ((reason.instruction, first), (reason.others[0] if reason.others else "", second)):
        if name:
            # A name may be the beginning of another one, such as `add` of `add.1`, which must stay as it is.
            clause = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", now, clause)
    return f"{clause[0].lower()}{clause[1:]}" if _START.match(clause) else clause


@cache
def _list_clauses() -> Mapping[str, str]:
    return {message.kind: message.clause for message in list_messages() if message.clause}
