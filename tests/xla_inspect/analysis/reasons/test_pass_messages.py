"""What compilers say of rewriting, layouts, copies, order, memory and shardings is read as decisions."""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import pytest

from programs import layer
from xla_inspect import capture
from xla_inspect.analysis.reasons import Decision, list_messages, read_reasons
from xla_inspect.analysis.reasons.messages import Message, find_topics
from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from xla_inspect.analysis.reasons import Reasons

MINE = ("simplification", "layout", "copies", "schedule", "rematerialization", "memory", "sharding")
MESSAGES = tuple(message for message in list_messages() if message.topic in MINE)
SOURCES = sorted(source for source, topic in find_topics().items() if topic in MINE)
WORDS = tomllib.loads((Path(__file__).parent / "pass_words.toml").read_text(encoding="utf-8"))["words"]


def tell(*said: tuple[str, str], run: int = 3) -> Reasons:
    """Return what is read of texts, each with the file that says it, in one run of a pass."""
    log = tuple(LogEvent(run, "p", "a-pass", "jit_f", source, 1, text) for source, text in said)
    return read_reasons(capture(layer.layer, *layer.EXAMPLE).retold(log=log))


def read(*said: tuple[str, str]) -> tuple[Decision, ...]:
    return tell(*said).decisions


@pytest.mark.parametrize("words", WORDS, ids=lambda words: f"{words['topic']}-{words['kind']}")
def test_words_of_a_compiler_are_read_as_what_they_decide(words: dict[str, Any]) -> None:
    (decision,) = read((words["source"], words["text"]))
    told = decision.topic, decision.kind, decision.verdict, decision.instruction, list(decision.others)
    assert told == tuple(words[key] for key in ("topic", "kind", "verdict", "instruction", "others"))
    assert decision.sentence
    assert decision.place


def test_nine_kinds_of_ten_that_decide_something_are_among_the_words() -> None:
    kinds = {(each.topic, each.kind) for each in MESSAGES if each.verdict not in {"nothing", "context"}}
    told = {(words["topic"], words["kind"]) for words in WORDS}
    assert told <= kinds
    assert len(told) >= 0.9 * len(kinds)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{message.topic}-{message.kind}")
def test_each_message_has_a_place_and_what_decides_a_sentence_of_what_it_found(message: Message) -> None:
    assert message.place
    assert bool(message.sentence) == (message.verdict not in {"nothing", "context"})
    asked = {name for _, name, _, _ in Formatter().parse(message.sentence) if name}
    assert asked <= {*message.pattern.groupindex, "instruction", "other", "asker"}


@pytest.mark.parametrize("source", SOURCES)
def test_words_that_nobody_knows_are_not_explained(source: str) -> None:
    reasons = tell((source, "Frobnicating %add.7 because the moon is full"))
    assert dict(reasons.unexplained) == {source: 1}


def test_a_copy_stays_for_the_value_that_would_be_overwritten() -> None:
    (decision,) = read(
        ("copy_removal", "TryElideCopy starting for: copy.5"),
        (
            "copy_removal",
            "    CheckLiveRangeBefore - live range of: <37 p{1} (phi)>, is not before; <15 add_fusion>",
        ),
    )
    assert (decision.verdict, decision.instruction, decision.others) == ("refused", "copy.5", ("p", "add_fusion"))
    assert "add_fusion would overwrite the buffer that holds p" in decision.sentence


SET = (
    "SUCC setting buffer constraint: BufferLayoutConstraint (priority=0, mandatory=0, dfs=1) <5 multiply.1>\n"
    " positions:\n  multiply.1\n uses are not initialized yet.\n from instruction: %multiply.1\n: {0,1}"
)


@pytest.mark.parametrize(
    ("said", "others", "asker"),
    [
        (
            "Propagating OperandLayoutConstraint (priority=0) transpose.4, operand 0: f32[4,8]{0,1} to its neighbors",
            ("transpose.4",),
            "transpose.4",
        ),
        ("Adding mandatory layout constraints to computation main.1", (), "the parameters, the results or the target"),
        ("Propagating ComputationLayoutConstraint (status=3): ()->f32[]", (), "parameters and results"),
    ],
)
def test_a_layout_is_asked_for_by_whom_the_pass_named_last(said: str, others: tuple[str, ...], asker: str) -> None:
    (decision,) = read(("layout_assignment", said), ("layout_assignment", SET))
    assert (decision.kind, decision.instruction, decision.others) == ("layout-set", "multiply.1", others)
    assert decision.sentence.startswith("multiply.1 is written in the layout {0,1}, asked for by ")
    assert asker in decision.sentence


def test_what_a_file_said_before_does_not_belong_to_another_file_that_no_pass_ran() -> None:
    said = (
        ("copy_removal", "TryElideCopy starting for: copy.5"),
        ("algorithm", "Allocation result = Success"),
        ("copy_removal", "    TryElideCopy: Region-based interference is true."),
    )
    told = [each.instruction for each in tell(*said, run=-1).decisions]
    assert told == ["", "copy.5"]


def test_collectives_are_told_with_what_was_partitioned() -> None:
    made = read(
        (
            "spmd_partitioner",
            "  2.00MiB : %dot.9 = f32[8,4]{1,0} dot(%a, %b)     * %all-gather = f32[8]{0} all-gather(%p)",
        ),
        ("spmd_partitioner", "     * %dot = f32[1,4]{1,0} dot(%a, %all-gather)"),
        ("spmd_partitioner", "     * %all-reduce.1 = f32[1,4]{1,0} all-reduce(%dot)"),
    )
    assert [(each.verdict, each.instruction, each.others) for each in made] == [
        ("done", "dot.9", ("all-gather",)),
        ("noted", "dot", ("dot.9",)),
        ("done", "all-reduce.1", ("dot.9",)),
    ]


def test_a_target_says_of_what_its_compiler_is_silent() -> None:
    log = (LogEvent(0, "p", "a-pass", "jit_f", "hlo_dce", 1, "x"),)
    told = capture(layer.layer, *layer.EXAMPLE).retold(log=log)
    silent = {target: read_reasons(told.retold(target=target)).silent for target in ("cpu:8", "h100", "tpu-v5e:2x4")}
    assert {target: list(topics) for target, topics in silent.items()} == {
        "cpu:8": ["schedule", "rematerialization"],
        "h100": ["vectorization"],
        "tpu-v5e:2x4": ["matmul", "vectorization"],
    }
    assert all(silent["cpu:8"].values())
    assert read_reasons(told.retold(log=())).silent == {}
