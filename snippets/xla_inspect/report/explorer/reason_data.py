"""What the compiler said of its reasons, by the explorer's numbers of instructions, as small JSON."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import Histories, is_fusion
from xla_inspect.analysis.reasons import TOPICS, Attempts, read_reasons

if TYPE_CHECKING:
    from xla_inspect.analysis.reasons import Attempt
    from xla_inspect.captured import Capture

NONE = -1
_RANK = {"refused": 0, "done": 1, "noted": 2, "tried": 3}

type Said = tuple[str, str, str, str, str]


def describe_reasons(capture: Capture) -> dict[str, Any]:
    """Return the compiler's decisions; `static/reasons.js` shows them.

    Args:
        capture: One with its log; any other has none.

    Returns:
        A mapping that JSON can hold:

        - `said`: each decision once, `[topic, verdict, pass, sentence, words, state]`: the state that the pass made, -1
          where it changed nothing; of several runs that said the same, the last that changed something.
        - `about`: number of an instruction to positions in `said`, the most telling first. Of a fusion that is left at
          the end there are the decisions about all that it fuses.
    """
    if not capture.log:
        return {"said": [], "about": {}}
    histories = Histories(capture)
    numbers = [{each.name: number for each, number in state.numbers.items()} for state in histories.states]
    said: dict[Said, int] = {}
    made: dict[int, int] = {}
    about: dict[int, dict[int, None]] = defaultdict(dict)
    ranked: dict[int, tuple[object, ...]] = {}
    for attempt in Attempts(histories, read_reasons(capture)).known:
        position = said.setdefault(_write(attempt), len(said))
        made[position] = max(made.get(position, NONE), _find_state(attempt, histories))
        ranked[position] = _rank(attempt)
        known = numbers[attempt.state]
        for name in sorted(attempt.first | attempt.others):
            if name in known:
                about[known[name]][position] = None
    last = histories.states[-1]
    for instruction, number in last.numbers.items():
        if is_fusion(instruction):
            for called in last.module.called(instruction):
                for inner in called:
                    about[number].update(about.get(last.numbers[inner], {}))
    return {
        "said": [(*each, made[position]) for each, position in said.items()],
        "about": {
            str(number): sorted(positions, key=lambda position: (ranked[position], -position))
            for number, positions in sorted(about.items())
            if positions
        },
    }


def _find_state(attempt: Attempt, histories: Histories) -> int:
    """Return the state that the pass of a decision made, or `NONE`."""
    after = attempt.state + 1
    is_made = after < len(histories.states) and histories.states[after].name == attempt.decision.pass_name
    return after if is_made else NONE


def _write(attempt: Attempt) -> Said:
    decision = attempt.decision
    return (
        decision.topic,
        decision.verdict,
        decision.pass_name or decision.source,
        decision.sentence,
        decision.words,
    )


def _rank(attempt: Attempt) -> tuple[object, ...]:
    """Return what sorts the most telling first: what was decided and is explained, by topic, refusals first."""
    decision = attempt.decision
    is_decided = decision.verdict in {"done", "refused"}
    return not is_decided, not decision.sentence, TOPICS.index(decision.topic), _RANK[decision.verdict]
