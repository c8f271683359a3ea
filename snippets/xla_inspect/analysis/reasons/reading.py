"""A parser that turns the log of a capture into decisions, by the known messages that `messages` reads."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from xla_inspect.analysis.reasons.cost_steps import weave_log
from xla_inspect.analysis.reasons.decision import Decision
from xla_inspect.analysis.reasons.messages import find_topics, group_messages, list_silent
from xla_inspect.plural import plural
from xla_inspect.targets import find_entry, find_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.analysis.reasons.decision import Topic, Verdict
    from xla_inspect.analysis.reasons.messages import Message, Part
    from xla_inspect.captured import Capture, LogEvent

LONGEST = 240
"""The largest number of characters that are shown of the compiler's own words."""

REPEATED = frozenset({"fusion", "matmul"})
"""The topics whose passes visit the same instructions repeatedly and log the same words."""

# A whole instruction as XLA prints it: `%add.7 = f32[64,256]{1,0} add(%a, %b), dimensions={...}`.
_WHOLE = re.compile(
    r"%(?P<name>[\w.-]+) = (?:\([^()]*\)|\S+) (?P<opcode>[\w-]+)\([^()]*\)(?:, [\w-]+=(?:\{[^{}]*\}|[^\s,]+))*"
)
_NAMED = re.compile(r"%([\w.-]+)")
_NAMES = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Reasons:
    """The decisions in a compiler's log, and the numbers of explained and unexplained lines.

    Attributes:
        decisions: The decisions, in order.
        explained: The number of log lines from the files in the message tables that match a known message.
        unexplained: The number of other lines from each of these files, most frequent first.
        silent: The topics that the compiler never logs for the capture's target, each with an explanation.
    """

    decisions: tuple[Decision, ...]
    explained: int
    unexplained: Mapping[str, int]
    silent: Mapping[Topic, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the log's lines that are explained; 1 for an empty log."""
        total = self.explained + sum(self.unexplained.values())
        return self.explained / total if total else 1.0

    def about(self, *instructions: str) -> tuple[Decision, ...]:
        """Return the decisions that involve at least one instruction with one of these names."""
        names = {*instructions}
        return tuple(
            decision
            for decision in self.decisions
            if decision.instruction in names or names.intersection(decision.others)
        )

    def of(self, topic: Topic) -> tuple[Decision, ...]:
        """Return the decisions on a topic."""
        return tuple(decision for decision in self.decisions if decision.topic == topic)


@dataclass(frozen=True)
class _Subject:
    """The instructions that a pass mentioned last, or the origin of its next messages if that is not an instruction."""

    instruction: str
    others: tuple[str, ...] = ()
    who: str = ""


NOBODY = "a rule of the compiler"
"""The words for the origin of a request whose origin the log does not state."""

ITSELF = "its own operands and result"
"""The words for the origin of a request that an instruction makes for itself."""

_NOBODY = _Subject("")


@dataclass
class _Memory:
    """The last subject and last refused instruction of each run of a pass, and the reported decisions.

    Messages from outside of passes are tracked by source file.
    """

    subjects: dict[int | str, _Subject] = field(default_factory=dict)
    refused: dict[int | str, str] = field(default_factory=dict)
    told: set[Decision] = field(default_factory=set)

    def complete(
        self, event: LogEvent, message: Message | None, names: tuple[str, tuple[str, ...]]
    ) -> tuple[tuple[str, tuple[str, ...]], _Subject]:
        """Return the instructions of a message, completed by the last subject, and that subject; update the subject."""
        at = event.run if event.run >= 0 else event.source
        subject = self.subjects.get(at, _NOBODY)
        if message and message.is_subject and (names[0] or message.verdict == "context"):
            self.subjects[at] = _Subject(*names, message.who)
        instruction, others = names
        if not instruction:
            return (subject.instruction, others or subject.others), subject
        if not others and subject.instruction in {"", instruction}:
            others = subject.others
        if message and message.is_asked and subject.instruction not in {"", instruction, *others}:
            others = (*others, subject.instruction)
        return (instruction, others), subject

    def judge(self, event: LogEvent, verdict: Verdict | Part, instruction: str) -> Verdict | None:
        """Return the verdict of a message; None if it contains no decision, or repeats the previous refusal."""
        if verdict in {"nothing", "context"}:
            return None
        at = event.run if event.run >= 0 else event.source
        # An echo right after a refusal of the same instruction repeats that refusal.
        is_again = verdict == "echo" and bool(instruction) and self.refused.get(at) == instruction
        self.refused[at] = instruction if verdict in {"echo", "refused"} else ""
        return None if is_again else "refused" if verdict == "echo" else cast("Verdict", verdict)

    def tell(self, decision: Decision) -> bool:
        """Return whether to report a decision, and record it: repeated attempts are reported once, changes always."""
        is_new = decision.topic not in REPEATED or decision.verdict == "done" or decision not in self.told
        self.told.add(decision)
        return is_new


def read_reasons(capture: Capture) -> Reasons:
    """Return the decisions in a capture's log and the counts of its lines; a capture without a log has none."""
    messages, topics, terms = group_messages(), find_topics(), find_terms(capture.target)
    decisions: list[Decision] = []
    unexplained: Counter[str] = Counter()
    explained = 0
    memory = _Memory()
    for event in weave_log(capture):
        if event.source not in topics:
            continue
        message, groups = _recognize(messages.get(event.source, ()), event.text)
        if message is None:
            unexplained[event.source] += 1
        else:
            explained += 1
        part = message.verdict if message else "noted"
        if part == "nothing":
            continue
        labels, subject = memory.complete(event, message, _list_named(event.text, groups))
        if (verdict := memory.judge(event, part, labels[0])) is None:
            continue
        topic = message.topic if message else topics[event.source]
        itself = subject.instruction and subject.instruction == labels[0]
        groups = {**groups, "asker": subject.who or (ITSELF if itself else subject.instruction) or NOBODY}
        decision = _decide(event, topic, verdict, labels, message, groups)
        if terms.words:
            decision = replace(decision, sentence=terms.adapt(decision.sentence))
        if memory.tell(decision):
            decisions.append(decision)
    silent = list_silent(find_entry(capture.target).kind) if capture.log else {}
    return Reasons(tuple(decisions), explained, dict(unexplained.most_common()), silent)


def _recognize(messages: Iterable[Message], text: str) -> tuple[Message | None, Mapping[str, str]]:
    """Return the first message that matches a text and the values of its groups, or None and no values."""
    for message in messages:
        if match := message.pattern.fullmatch(text):
            return message, {name: value or "" for name, value in match.groupdict().items()}
    return None, {}


def _list_named(text: str, groups: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return the subject of a message and the other instructions, from its groups or else in the order of the text."""
    others = {
        name: None for group, value in groups.items() if group.startswith("other") for name in _NAMES.findall(value)
    }
    if groups.get("instruction") or others:
        return groups.get("instruction", "").lstrip("%"), tuple(others)
    names = list(dict.fromkeys(_NAMED.findall(text))) if not groups else []
    return (names[0], tuple(names[1:3])) if names else ("", ())


class _Text(str):
    """A part of a message, as the value of a placeholder."""

    __slots__ = ()

    def __format__(self, noun: str) -> str:
        """Return the text; `{count:copy|copies}` and `{count:loop}` add a noun in the singular or the plural."""
        if not noun:
            return str(self)
        one, _, many = noun.partition("|")
        # XLA writes some numbers as fractions or powers of ten, which are shown unchanged.
        return plural(int(self), one, many) if self.isdecimal() else f"{self} {many or f'{one}s'}"


def _decide(  # noqa: PLR0913, PLR0917 - a decision combines all of these
    event: LogEvent,
    topic: Topic,
    verdict: Verdict,
    names: tuple[str, tuple[str, ...]],
    message: Message | None,
    groups: Mapping[str, str],
) -> Decision:
    instruction, others = names
    texts = {**groups, "instruction": instruction, "other": ", ".join(others)}
    values = {name: _Text(text) for name, text in texts.items()}
    return Decision(
        topic=topic,
        verdict=verdict,
        instruction=instruction,
        others=others,
        words=shorten_words(groups.get("words") or event.text),
        kind=message.kind if message else "",
        sentence=message.sentence.format_map(values) if message else "",
        place=message.place if message else "",
        run=event.run,
        pipeline=event.pipeline,
        pass_name=event.name,
        module=event.module,
        source=event.source,
        line=event.line,
    )


def shorten_words(text: str) -> str:
    """Return a compiler's words on one line of at most `LONGEST` characters, with instructions shortened to names."""
    line = " ".join(_WHOLE.sub(r"%\g<name>", text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}\u2026"
