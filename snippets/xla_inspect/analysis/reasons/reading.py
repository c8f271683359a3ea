"""Read the log of a capture as decisions, by the tables of messages."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.reasons.cost_steps import weave_log
from xla_inspect.analysis.reasons.decision import Decision
from xla_inspect.analysis.reasons.messages import find_topics, group_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.analysis.reasons.decision import Topic, Verdict
    from xla_inspect.analysis.reasons.messages import Message
    from xla_inspect.captured import Capture, LogEvent

LONGEST = 240
"""How many characters of words that nobody knows are shown."""

# An instruction as XLA prints it, whole: `%add.7 = f32[64,256]{1,0} add(%a, %b), dimensions={...}`.
_WHOLE = re.compile(
    r"%(?P<name>[\w.-]+) = (?:\([^()]*\)|\S+) (?P<opcode>[\w-]+)\([^()]*\)(?:, [\w-]+=(?:\{[^{}]*\}|[^\s,]+))*"
)
_NAMED = re.compile(r"%([\w.-]+)")
_NAMES = re.compile(r"[\w.-]+")

type Named = tuple[str, tuple[str, ...]]

NOBODY: Named = ("", ())
"""No instruction, and no others that have a part."""


@dataclass(frozen=True)
class Reasons:
    """What a compiler said of its reasons.

    Attributes:
        decisions: What it decided, in order.
        explained: How many lines of the log are of a kind that is known.
        unexplained: The others, most frequent first: the file, and how many.
    """

    decisions: tuple[Decision, ...]
    explained: int
    unexplained: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of the log's lines that are explained; 1 of a log without any."""
        total = self.explained + sum(self.unexplained.values())
        return self.explained / total if total else 1.0

    def about(self, *instructions: str) -> tuple[Decision, ...]:
        """Return the decisions that one of the instructions had a part in."""
        names = {*instructions}
        return tuple(each for each in self.decisions if each.instruction in names or names.intersection(each.others))

    def of(self, topic: Topic) -> tuple[Decision, ...]:
        """Return the decisions on a topic."""
        return tuple(each for each in self.decisions if each.topic == topic)


def read_reasons(capture: Capture) -> Reasons:
    """Return what the compiler of a capture said of its reasons; nothing where that was not asked for."""
    known, topics = group_messages(), find_topics()
    decisions: list[Decision] = []
    unexplained: Counter[str] = Counter()
    explained = 0
    subjects: dict[int, Named] = {}
    refused: dict[int, str] = {}
    for event in weave_log(capture):
        if event.source not in topics:
            continue
        message, found = _recognize(known.get(event.source, ()), event.text)
        if message is None:
            unexplained[event.source] += 1
        else:
            explained += 1
        verdict = message.verdict if message else "noted"
        if verdict == "nothing":
            continue
        named = _list_named(event.text, found)
        if verdict == "context":
            subjects[event.run] = named
            continue
        # Where no pass runs, several threads speak, and nothing is about what was named before.
        if event.run >= 0:
            inherits = found.get("other") == ""
            named = _complete(named, subjects.get(event.run, NOBODY), inherits=inherits)
            if verdict in {"tried", "done"} and not inherits:
                subjects[event.run] = named
            if verdict == "echo" and named[0] and refused.get(event.run) == named[0]:
                continue
        if verdict == "echo":
            verdict = "refused"
        refused[event.run] = named[0] if verdict == "refused" else ""
        topic = message.topic if message else topics[event.source]
        decisions.append(_decide(event, topic, verdict, named, message, found))
    return Reasons(tuple(decisions), explained, dict(unexplained.most_common()))


def _recognize(messages: Iterable[Message], text: str) -> tuple[Message | None, Mapping[str, str]]:
    """Return the first of messages that a text is, with what its groups found."""
    for message in messages:
        if found := message.pattern.fullmatch(text):
            return message, {name: value or "" for name, value in found.groupdict().items()}
    return None, {}


def _list_named(text: str, found: Mapping[str, str]) -> Named:
    """Return the instruction that a message is about, and the others: those that its groups found, else the first."""
    if found:
        others = {
            name: None for group, value in found.items() if group.startswith("other") for name in _NAMES.findall(value)
        }
        return found.get("instruction", "").lstrip("%"), tuple(others)
    names = list(dict.fromkeys(_NAMED.findall(text)))
    return (names[0], tuple(names[1:3])) if names else NOBODY


def _complete(named: Named, last: Named, *, inherits: bool) -> Named:
    """Return what a message is about, with what the pass named last where the message names less.

    Args:
        named: What the message names.
        last: What the pass named last.
        inherits: Whether that has a part in it, though the message is about another instruction.
    """
    instruction, others = named
    if not instruction:
        return last[0], tuple(dict.fromkeys((*last[1], *others)))
    if not others and last[0] in {"", instruction}:
        return instruction, last[1]
    return (instruction, (last[0],)) if inherits and last[0] else named


def _decide(  # noqa: PLR0913, PLR0917 - what a decision consists of
    event: LogEvent,
    topic: Topic,
    verdict: Verdict,
    named: Named,
    message: Message | None,
    found: Mapping[str, str],
) -> Decision:
    instruction, others = named
    values = {**found, "instruction": instruction, "other": ", ".join(others)}
    return Decision(
        topic=topic,
        verdict=verdict,
        instruction=instruction,
        others=others,
        words=shorten_words(found.get("words") or event.text),
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
    """Return a compiler's words in one line, with instructions by their names and not by their whole texts."""
    line = " ".join(_WHOLE.sub(r"%\g<name>", text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}\u2026"
