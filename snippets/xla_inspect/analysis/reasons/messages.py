"""The known messages of compilers with their patterns, decisions and meanings, read from the TOML tables."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xla_inspect.analysis.reasons.decision import TOPICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.reasons.decision import Topic, Verdict

TABLES = Path(__file__).parent / "tables"

type Part = Literal["context", "nothing", "echo"]
"""The part that a message without a decision plays: context for the next messages, progress of the pass, or an echo.

An echo repeats the previous refusal in other words; without a previous refusal, it is a refusal itself.
"""


@dataclass(frozen=True)
class Message:
    """A known message of a compiler.

    Attributes:
        topic: The topic, which is the name of its table.
        kind: The key of the message.
        sources: The files of XLA that log it, without suffix.
        expression: The text of the pattern of a whole message. The group `instruction` is the subject, groups that
            begin with `other` are one or several names, and `words` is the part with the compiler's own words. The
            sentence may contain any other group.
        verdict: The outcome of its decision, or the `Part` that a message without a decision plays.
        sentence: The explanation, with named groups in braces; `{count:loop}` adds the noun, as in `1 loop`.
        place: The source of the message: a file of openxla/xla, or `libtpu`.
        clause: A short form of a refusal's sentence, to follow `does not fuse A into B, because `.
        who: For a context, the words for the origin of the following requests if it is not an instruction, which
            replace `{asker}` in their sentences.
        is_asked: Whether the requesting instruction is one of the decision's other instructions.
        is_subject: Whether the following messages have the same subject, as after a context or an attempt.
    """

    topic: Topic
    kind: str
    sources: tuple[str, ...]
    expression: str
    verdict: Verdict | Part
    sentence: str
    place: str
    clause: str = ""
    who: str = ""
    is_asked: bool = False
    is_subject: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; there are hundreds, and a log has messages of a few files."""
        return re.compile(self.expression, re.DOTALL)


@cache
def list_messages() -> tuple[Message, ...]:
    """Return all known messages in the order of the tables; the first one that matches a text applies."""
    return tuple(
        Message(
            topic,
            entry["kind"],
            tuple(entry["sources"]),
            entry["pattern"],
            entry["verdict"],
            entry.get("sentence", ""),
            entry.get("place", ""),
            entry.get("clause", ""),
            entry.get("who", ""),
            entry.get("is_asked", False),
            entry.get("is_subject", entry["verdict"] in {"context", "tried"}),
        )
        for topic in TOPICS
        for entry in _read_table(topic).get("message", ())
    )


@cache
def group_messages() -> Mapping[str, tuple[Message, ...]]:
    """Return the known messages by the source file that logs them."""
    sources = {source for message in list_messages() for source in message.sources}
    return {
        source: tuple(known_message for known_message in list_messages() if source in known_message.sources)
        for source in sources
    }


@cache
def find_topics() -> Mapping[str, Topic]:
    """Return the main topic of each file of XLA in the tables; a known message may have another topic."""
    # Reversed, so that the first topic wins for a file that several topics list.
    return {source: topic for topic in reversed(TOPICS) for source in _read_table(topic)["sources"]}


@cache
def list_silent(kind: str) -> Mapping[Topic, str]:
    """Return the topics that the compiler for `cpu`, `gpu` or `tpu` never logs, each with an explanation."""
    tables = {topic: _read_table(topic).get("silent", {}) for topic in TOPICS}
    return {topic: silent[kind] for topic, silent in tables.items() if kind in silent}


@cache
def _read_table(topic: Topic) -> dict[str, Any]:
    return tomllib.loads((TABLES / f"{topic}.toml").read_text(encoding="utf-8"))
