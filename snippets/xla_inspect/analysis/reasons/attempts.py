"""The logged decisions of a compiler, which can be looked up by instructions of the optimized program."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import is_fusion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from xla_inspect.analysis import Histories
    from xla_inspect.analysis.reasons.decision import Decision
    from xla_inspect.analysis.reasons.reading import Reasons
    from xla_inspect.hlo import Instruction, Module

EMITTING = frozenset({"algorithm_checker", "fusion_block_level_rewriter", "fusion_emitter", "triton"})
"""The files whose decisions concern the code of a kernel and not its contents."""
_MERGE = re.compile(r"\s*Fusing %?(?P<producer>[\w.-]+)\b.*? into %?(?P<consumer>[\w.-]+)", re.DOTALL)
_CREATED = re.compile(r"\s*created new fusion: %?(?P<name>[\w.-]+)\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A decision, with the part of the program that it concerned when the pass began.

    Attributes:
        decision: The decision of the compiler.
        state: The position, among the states of the histories, of the pass's input module.
        first: The names in that state of the decision's instruction and of everything fused into it so far.
        others: The same names for the other instructions involved, such as the consumer.
    """

    decision: Decision
    state: int
    first: frozenset[str]
    others: frozenset[str]


class Attempts:
    """The decisions of one compilation, which can be looked up by instructions of the optimized module.

    Args:
        histories: The history of each instruction.
        reasons: The compiler's reasons.
    """

    def __init__(self, histories: Histories, reasons: Reasons) -> None:
        """Find the time of each decision, and the instructions that its names referred to."""
        self.histories = histories
        self._names: dict[tuple[int, frozenset[Instruction]], set[str]] = {}
        name = histories.capture.module.name
        runs: dict[int, list[Decision]] = defaultdict(list)
        for decision in reasons.decisions:
            # Decisions about a part that a pass extracted and compiled separately refer to other instructions.
            if not decision.module or decision.module == name or decision.run < 0:
                runs[decision.run].append(decision)
        self.known: tuple[Attempt, ...] = tuple(self._read(runs))

    def _read(self, runs: Mapping[int, list[Decision]]) -> Iterable[Attempt]:
        places = self.histories.places
        merges = self._read_merges()
        # Decisions outside of any pass concern the last state, so they come last.
        for run in sorted(runs, key=lambda number: (number < 0, number)):
            decisions = runs[run]
            state = self._find_state(run, decisions[0], places)
            contents = _list_held(self.histories.states[state].module)
            for key, (producer, consumer) in merges.get(run, {}).items():
                contents[key] = contents.get(producer, frozenset({producer})) | contents.get(
                    consumer, frozenset({consumer})
                )
            for decision in decisions:
                # An instruction that is not a fusion contains only itself.
                first = contents.get(decision.instruction, frozenset({decision.instruction}))
                others = frozenset().union(*(contents.get(other, frozenset({other})) for other in decision.others))
                yield Attempt(decision, state, first - {""}, others)

    def _find_state(self, run: int, decision: Decision, places: list[int | None]) -> int:
        """Return the position of the state that a run of a pass began with."""
        if run < 0:
            return len(self.histories.states) - 1
        runs = self.histories.capture.runs
        same = [
            number
            for number, pass_run in enumerate(runs)
            if (pass_run.pipeline, pass_run.name) == (decision.pipeline, decision.pass_name)
        ]
        # The log also counts runs that leave no dump, so the nearest run of the same name is the best match.
        at = min(same, key=lambda number: abs(number - run)) if same else run
        return max((state for state, place in enumerate(places) if place is not None and place < at), default=0)

    def _read_merges(self) -> Mapping[int, dict[str, tuple[str, str]]]:
        """Return the producer and the consumer of each intermediate fusion, by run and by name of the fusion."""
        merges: dict[int, dict[str, tuple[str, str]]] = defaultdict(dict)
        waiting: dict[int, tuple[str, str]] = {}
        for event in self.histories.capture.log:
            if match := _MERGE.match(event.text):
                waiting[event.run] = match["producer"], match["consumer"]
                # A consumer that is already a fusion keeps its name.
                merges[event.run].setdefault(match["consumer"], waiting[event.run])
            elif (match := _CREATED.match(event.text)) and event.run in waiting:
                merges[event.run][match["name"]] = waiting.pop(event.run)
        return merges

    def names_at(self, state: int, instructions: Collection[Instruction]) -> set[str]:
        """Return the names that instructions of the optimized module have in a state; see `Histories.names_at`."""
        key = state, frozenset(instructions)
        if key not in self._names:
            self._names[key] = self.histories.names_at(state, instructions)
        return self._names[key]

    def about(self, instructions: Collection[Instruction]) -> list[Decision]:
        """Return the decisions that are about some instructions of the optimized module, in order.

        Args:
            instructions: All instructions that a kernel fuses, or one instruction.
        """
        return [
            attempt.decision for attempt in self.known if attempt.first & self.names_at(attempt.state, instructions)
        ]

    def named(self, histories: Iterable[tuple[int, str]]) -> list[Decision]:
        """Return the decisions about one instruction, by its name in each state; it may have been removed later.

        Args:
            histories: Pairs of a state's position and the instruction's name in that state.
        """
        names = dict(histories)
        return [attempt.decision for attempt in self.known if names.get(attempt.state) in attempt.first]

    def between(self, producer: Collection[Instruction], consumer: Collection[Instruction]) -> list[Decision]:
        """Return the decisions about fusing a part of one kernel into another, or else those about the producer alone.

        Args:
            producer: The instructions of the kernel that writes.
            consumer: The instructions of the kernel that reads.
        """
        both: list[Decision] = []
        some: list[Decision] = []
        for attempt in self.known:
            if attempt.decision.topic not in {"fusion", "matmul"} or attempt.decision.source in EMITTING:
                continue
            producers = self.names_at(attempt.state, producer)
            consumers = self.names_at(attempt.state, consumer)
            # An instruction that both kernels contain says nothing about the boundary between them.
            first, others = attempt.first & producers - consumers, attempt.others & consumers - producers
            if first and others:
                both.append(attempt.decision)
            elif not attempt.others and first and not attempt.first & consumers:
                some.append(attempt.decision)
            # The consumer may also be the subject of a decision, with the producer as the other instruction.
            elif attempt.first & consumers - producers and attempt.others & producers - consumers:
                both.append(attempt.decision)
        return both or some


def _list_held(module: Module) -> dict[str, frozenset[str]]:
    """Return, for the name of each fusion, that name and the names of its fused instructions."""
    return {
        instruction.name: frozenset(
            {instruction.name, *(inner.name for callees in module.called(instruction) for inner in callees)}
        )
        for instruction in module.walk()
        if is_fusion(instruction)
    }
