"""The search for the best plan: an inexpensive model predicts each plan, and only promising ones are compiled."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.analysis import tell_failure
from xla_inspect.analysis.estimates import list_options
from xla_inspect.errors import InspectError
from xla_inspect.questions.memory import explain_memory, find_available
from xla_inspect.questions.plan.finding import Plan, StepPlan
from xla_inspect.questions.plan.plan_model import Known, predict
from xla_inspect.questions.time import estimate_time
from xla_inspect.subject import UNCHANGED, Subject, count_bytes, list_choices, list_meshes, make_trial
from xla_inspect.terminal import print_note
from xla_inspect.units import format_bytes, format_seconds, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.questions.plan.finding import Ending
    from xla_inspect.questions.plan.plan_model import Key
    from xla_inspect.subject import Choice

_LEAST_BYTES = 1 << 20
_MOST_KEYS = 20_000
_REASON_LENGTH = 200
_MOST_FAILURES = 2

REPEATED = "the same program as another plan"
"""The failure of a plan whose changes make no difference to another plan."""


class Search:
    """The search for the best plan of one program on one target."""

    def __init__(self, subject: Subject, target: str, choices: Mapping[str, Sequence[Choice]]) -> None:
        """Store the arguments without compiling."""
        self.subject, self.target, self.choices = subject, target, choices
        self.available = find_available(target)
        self.known: dict[Key, Known] = {}
        self.plans: dict[Key, Plan] = {}
        self.failure_counts: Counter[tuple[int, int]] = Counter()
        self.arguments: dict[Key, int] = {}
        self.identities: dict[str, Key] = {}
        self.useless: set[tuple[int, int]] = set()
        self.possible = math.prod(len(several) for several in choices.values())

    def run(self, start: float, end: float) -> Ending:
        """Compile plans until the process has used processor time up to the end, and return the reason for the end."""
        try:
            while count_seconds() <= end:
                keys = self._list_candidates()
                if not keys:
                    return "complete"
                key, is_promising = self._choose(keys)
                if not is_promising:
                    return "model"
                self._compile(key)
                plan = self.plans[key]
                seconds = count_seconds() - start
                print_note(f"{len(self.plans)} of {self.possible} plans, {seconds:.0f} s: {_tell(plan)}")
        except KeyboardInterrupt:
            return "interrupted"
        return "budget"

    def _list_candidates(self) -> list[Key]:
        """Return the plans that differ from a compiled one in one choice, without choices that cannot work."""
        failures = {choice for choice, count in self.failure_counts.items() if count >= _MOST_FAILURES}
        hopeless = self.useless | failures.difference(*map(enumerate, self.known))
        neighbors = {
            (*key[:at], number, *key[at + 1 :]): None
            for key in self.known or self.plans
            for at, several in enumerate(self.choices.values())
            for number in range(len(several))
        }
        keys = [key for key in neighbors if key not in self.plans and hopeless.isdisjoint(enumerate(key))]
        return [key for key in keys[:_MOST_KEYS] if self._is_worth_a_compile(key)]

    def _is_worth_a_compile(self, key: Key) -> bool:
        """Return True if a plan should be compiled; otherwise, record the reason as its failure."""
        if key not in self.arguments:
            chosen = self._choose_all(key)
            try:
                call = make_trial(self.subject, chosen).subject.call
                needed = self.arguments[key] = count_bytes(call) if call else 0
            except Exception as error:  # noqa: BLE001 - a change that fails for any reason must not stop the others
                self._fail(key, error)
                return False
            mesh = call.settings.get("mesh") or {} if call else {}
            if self.available and needed > self.available:
                reason = f"its arguments alone need {format_bytes(needed)}, so it was not compiled"
                self.plans[key] = self._describe(key, needed, fits=False, failure=reason)
            elif any(mesh.get(choice.axis) == 1 for choice in chosen):
                self.plans[key] = self._describe(key, needed, fits=None, failure=REPEATED)
        return key not in self.plans

    def _choose(self, keys: Sequence[Key]) -> tuple[Key, bool]:
        """Return the most promising plan, and whether it may be better than the best one."""
        mean, spread = predict(self.choices, self.known, keys, 1)
        score = mean - spread
        times = (plan.seconds for plan in self.plans.values() if plan.fits and plan.seconds)
        best = math.log(min(times, default=math.inf))
        if self.available:
            rest, unsure = predict(self.choices, self.known, keys, 0)
            needed = np.array([self.arguments[key] for key in keys]) + np.exp(rest - unsure / 2)
            # A plan that needs too much memory may still teach something, but less the more it needs.
            score = score + 4 * np.maximum(np.log(needed / self.available), 0)
        at = int(np.argmin(score))
        return keys[at], bool(score[at] - 2 * spread[at] < best)

    def _compile(self, key: Key) -> None:
        try:
            capture = make_trial(self.subject, self._choose_all(key)).capture(self.target)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(key, error)
        else:
            self.record(key, capture)

    def record(self, key: Key, capture: Capture) -> None:
        """Record the memory and the time of a compiled plan, or the compiler's reason to reject it."""
        self._is_worth_a_compile(key)
        use, estimate = explain_memory(capture, ""), estimate_time(capture)
        if capture.error and not (use.fits is False and use.needed_bytes):
            self._fail(key, InspectError(tell_failure(capture)))
            return
        twin = self._find_twin(key, capture.identity)
        if twin is None:
            self.known[key] = Known(max(use.needed_bytes - self.arguments.get(key, 0), _LEAST_BYTES), estimate.seconds)
        failure = "" if use.fits is not False else f"needs {format_bytes(use.needed_bytes)}"
        self.plans[key] = self._describe(
            key,
            use.needed_bytes,
            fits=use.fits,
            seconds=estimate.seconds,
            low_seconds=estimate.low_seconds,
            high_seconds=estimate.high_seconds,
            is_least=estimate.is_least,
            utilization=estimate.utilization,
            failure=REPEATED if twin else failure,
        )

    def _find_twin(self, key: Key, identity: str) -> Key | None:
        """Return an earlier plan with the same program and at most as many changes, and note which change does nothing.

        An earlier plan with more changes is recorded as the repetition instead.
        """
        twin = self.identities.setdefault(identity, key)
        if twin == key:
            return None
        differing = [(at, number or twin[at]) for at, number in enumerate(key) if number != twin[at]]
        self.useless.update(differing if len(differing) == 1 else ())
        if sum(map(bool, twin)) <= sum(map(bool, key)):
            return twin
        self.identities[identity] = key
        self.plans[twin] = replace(self.plans[twin], failure=REPEATED)
        return None

    def _fail(self, key: Key, error: Exception) -> None:
        """Record a plan that cannot be compiled."""
        self.failure_counts.update((at, number) for at, number in enumerate(key) if number)
        text = str(error).partition("\n")[0]
        text = text if isinstance(error, InspectError) else f"{type(error).__name__}: {text}"
        self.plans[key] = self._describe(key, None, fits=None, failure=shorten(text, _REASON_LENGTH))

    def _choose_all(self, key: Key) -> list[Choice]:
        return [several[number] for several, number in zip(self.choices.values(), key, strict=True)]

    def _describe(self, key: Key, needed: int | None, *, fits: bool | None, **figures: Any) -> Plan:  # noqa: ANN401 - the other fields
        changed = [choice for choice in self._choose_all(key) if choice.words != UNCHANGED]
        return Plan(
            "; ".join(choice.words for choice in changed) or UNCHANGED,
            " ".join(choice.option for choice in changed if choice.option),
            tuple(choice.code for choice in changed if choice.code),
            needed,
            fits,
            **figures,
        )


def search_plans(  # noqa: PLR0913 - what is searched, and how far
    subject: Subject,
    target: str,
    kinds: Sequence[str],
    own: Mapping[str, Sequence[Any]],
    *,
    minutes: float,
    command_words: str = "",
) -> StepPlan:
    """Search for the best plans of a program, within some minutes of processor time.

    The plans combine kinds of changes, and the program's own values for its parameters, by name.
    """
    # A GPU's compiler writes its own estimates of time only if it is asked to.
    options = {**subject.options, **list_options(target)}
    subject = Subject(subject.name, subject.call, options=options, lines_of=subject.lines_of)
    start = count_seconds()
    # The program as it is written has to compile, up to its memory, so its errors are raised.
    capture = make_trial(subject, list_meshes(subject, target)[:1]).capture(target)
    choices = list_choices(subject, target, kinds, capture, own)
    search = Search(subject, target, choices)
    search.record((0,) * len(choices), capture)
    ending = search.run(start, start + 60 * minutes)
    results = [plan for plan in search.plans.values() if plan.failure != REPEATED]
    # Of equally fast plans, the one with the shortest change is the first.
    results.sort(key=lambda plan: (math.inf if plan.seconds is None else plan.seconds, len(plan.change)))
    return StepPlan(
        program=subject.name,
        asked=command_words,
        target=target,
        available_bytes=search.available,
        written=search.plans[(0,) * len(choices)],
        plans=tuple(plan for plan in results if not plan.failure and plan.seconds is not None),
        failures=tuple(plan for plan in results if plan.failure),
        tried={kind: len(several) for kind, several in choices.items() if len(several) > 1},
        absent=tuple(kind for kind in kinds if len(choices.get(kind, ())) < 2 and kind != "parameter"),  # noqa: PLR2004
        possible=search.possible,
        compiled=len(search.known),
        ending=ending,
    )


def count_seconds() -> float:
    """Return the seconds of processor time that this process and its ended child processes have used."""
    return sum(os.times()[:4])


def _tell(plan: Plan) -> str:
    time_ = format_seconds(plan.seconds) if plan.seconds is not None else ""
    needs = format_bytes(plan.needed_bytes) if plan.needed_bytes else ""
    return f"{plan.change}: {', '.join(filter(None, (time_, needs, plan.failure or 'fits')))}"
