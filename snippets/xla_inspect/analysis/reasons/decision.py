"""A compiler's decision about an instruction, in the compiler's words and in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

type Topic = Literal[
    "fusion",
    "matmul",
    "simplification",
    "layout",
    "copies",
    "schedule",
    "rematerialization",
    "memory",
    "sharding",
    "vectorization",
]

TOPICS: tuple[Topic, ...] = get_args(Topic.__value__)
"""The topics of decisions, in the order in which compilers decide them."""

type Verdict = Literal["done", "refused", "tried", "noted"]
"""The outcome of a decision: the compiler did it, refused it, tried it, or noted a fact that guides it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a compiler about an instruction.

    Attributes:
        topic: The topic, one of `TOPICS`.
        verdict: The outcome.
        instruction: The name, at that time, of the instruction that the decision is about, or an empty string.
        others: The names of other instructions involved, such as the consumer that a producer was fused into.
        words: The compiler's own words, without the texts of whole instructions.
        kind: The key of the known message, or an empty string.
        sentence: An explanation in plain words, or an empty string.
        place: The source of the message: a file of openxla/xla, or `libtpu`, whose source is closed.
        run: The run of a pass that logged it, as in `LogEvent`; -1 outside of any pass.
        pipeline: The pipeline that ran the pass.
        pass_name: The name of the pass.
        module: The HLO module that the pass ran on.
        source: The file that logged the message, without its suffix.
        line: The line in that file.
    """

    topic: Topic
    verdict: Verdict
    instruction: str
    others: tuple[str, ...]
    words: str
    kind: str
    sentence: str
    place: str
    run: int
    pipeline: str
    pass_name: str
    module: str
    source: str
    line: int
