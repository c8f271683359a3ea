"""The compiler's reasons for its decisions, by the explorer's numbers of instructions, as small JSON."""

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
        capture: A capture with the compiler's log; without a log there are no decisions.

    Returns:
        A mapping that can be written as JSON:

        - `said`: each decision once, `[topic, verdict, pass, sentence, words, state]`. The state is the result of the
          pass, or -1 if the pass changed nothing; of several runs with the same decision, it is that of the last run
          with a change.
        - `about`: for the number of each instruction the positions of its decisions in `said`, the most informative
          first. A fusion of the optimized module has the decisions about all instructions inside it.
    """
    if not capture.log:
        return {"said": [], "about": {}}
    histories = Histories(capture)
    numbers = [
        {instruction.name: number for instruction, number in state.numbers.items()} for state in histories.states
    ]
    numbers_of: dict[Said, int] = {}
    states: dict[int, int] = {}
    about: dict[int, dict[int, None]] = defaultdict(dict)
    ranked: dict[int, tuple[object, ...]] = {}
    for attempt in Attempts(histories, read_reasons(capture)).known:
        position = numbers_of.setdefault(_write(attempt), len(numbers_of))
        # A pass may run several times with the same decision, and the last run with a change is the useful one.
        states[position] = max(states.get(position, NONE), _find_state(attempt, histories))
        ranked[position] = _rank(attempt)
        instruction_numbers = numbers[attempt.state]
        for name in sorted(attempt.first | attempt.others):
            if name in instruction_numbers:
                about[instruction_numbers[name]][position] = None
    last = histories.states[-1]
    for instruction, number in last.numbers.items():
        if is_fusion(instruction):
            for computation in last.module.called(instruction):
                for inner in computation:
                    # The instructions inside a fusion have no rows of their own in the entry computation, so the
                    # fusion has their reasons.
                    about[number].update(about.get(last.numbers[inner], {}))
    return {
        "said": [(*decision, states[position]) for decision, position in numbers_of.items()],
        "about": {
            str(number): sorted(positions, key=lambda position: (ranked[position], -position))
            for number, positions in sorted(about.items())
            if positions
        },
    }


def _find_state(attempt: Attempt, histories: Histories) -> int:
    """Return the number of the state after the pass of a decision, or `NONE` if the pass changed nothing."""
    after = attempt.state + 1
    # XLA dumps no module after a run without a change, so the next state may belong to another pass.
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
    """Return the sort key of a decision: final and explained decisions first, then by topic, refusals first."""
    decision = attempt.decision
    is_decided = decision.verdict in {"done", "refused"}
    return not is_decided, not decision.sentence, TOPICS.index(decision.topic), _RANK[decision.verdict]
