"""Messages of compilers are read as decisions, and each kind of message has a plain sentence."""

from __future__ import annotations

import tomllib
from collections import Counter
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

STEPS = "fusion_log"
FUSION_WORDS, PASS_WORDS = (
    tomllib.loads(Path(__file__).with_name(f"{name}_words.toml").read_text(encoding="utf-8"))
    for name in ("fusion", "pass")
)


def tell(*messages: tuple[str, str], run: int = 3) -> Reasons:
    """Return the decisions read from texts of one pass run, each text with its source file."""
    log = tuple(LogEvent(run, "p", "a-pass", "jit_f", source, 1, text) for source, text in messages)
    return read_reasons(capture(layer.layer, *layer.EXAMPLE).retold(log=log))


def read(*messages: tuple[str, str]) -> tuple[Decision, ...]:
    return tell(*messages).decisions


ADD = "%add.7 = f32[64,256]{1,0} add(%ynn_fusion, %add.6)"
EXP = "%exp.1 = f32[8,8]{1,0} exponential(%sub.7)"


@pytest.mark.parametrize("words", [*FUSION_WORDS["words"], *PASS_WORDS["words"]], ids=lambda words: words["kind"])
def test_a_message_of_a_compiler_is_read_as_its_decision(words: dict[str, Any]) -> None:
    (decision,) = read((words["source"], words["text"]))
    decision_parts = decision.topic, decision.kind, decision.verdict, decision.instruction, list(decision.others)
    assert decision_parts == tuple(words[key] for key in ("topic", "kind", "verdict", "instruction", "others"))
    assert decision.sentence
    assert "{asker}" not in decision.sentence
    assert decision.place


def test_at_least_nine_of_ten_kinds_of_deciding_messages_are_known() -> None:
    kinds = {message.kind for message in list_messages() if message.verdict not in {"nothing", "context"}}
    known_kinds = {words["kind"] for words in PASS_WORDS["words"]}
    assert known_kinds <= kinds
    others = {message.kind for message in list_messages() if message.topic in {"fusion", "matmul", "vectorization"}}
    assert len(known_kinds) >= 0.9 * len(kinds - others)


@pytest.mark.parametrize(("reason", "kind"), FUSION_WORDS["because"].items())
def test_each_reason_that_the_sources_give_is_explained_on_its_own(reason: str, kind: str) -> None:
    (decision,) = read(("instruction_fusion", f"not fusing operand {EXP} because {reason}"))
    assert (decision.kind, decision.verdict, decision.words) == (kind, "refused", reason)


@pytest.mark.parametrize(("reason", "kind"), FUSION_WORDS["cost"].items())
@pytest.mark.parametrize(("form", "others"), [("stays", ()), ("not into add.7", ("add.7",))])
def test_each_reason_of_the_cost_log_is_explained_on_its_own(
    reason: str, kind: str, form: str, others: tuple[str, ...]
) -> None:
    (decision,) = read((STEPS, f"exp.1 {form}: {reason}"))
    assert (decision.kind, decision.verdict) == (kind, "refused")
    assert (decision.instruction, decision.others, decision.words) == ("exp.1", others, reason)


def test_a_message_without_names_is_about_the_pair_named_before() -> None:
    messages = (
        ("tpu_instruction_fusion", f"Pre-considering\n  producer={EXP}\n  consumer={ADD}"),
        ("tpu_instruction_fusion", "No fusing; output fusion is disabled."),
    )
    (decision,) = read(*messages)
    assert (decision.kind, decision.instruction, decision.others) == ("tpu-after-matmul-only", "exp.1", ("add.7",))


def test_a_refusal_without_names_includes_the_last_considered_user() -> None:
    considered = ("cpu_instruction_fusion", f"Considering for fusion: operand 0 of {ADD}")
    refused = ("instruction_fusion", f"not fusing operand {EXP} because Producer is not loop-fusible.")
    (decision,) = read(considered, refused)
    assert (decision.instruction, decision.others) == ("exp.1", ("add.7",))


def test_a_library_call_belongs_to_the_operation_that_started_it() -> None:
    messages = [("library_rewriter", "Starting a fusion with: %dot.7 = f32[8] dot(%a, %b)")]
    messages += [("library_rewriter", f"  Up: Fusing with: %{name} = f32[8] negate(%c)") for name in ("neg.1", "neg.2")]
    decisions = [(decision.instruction, decision.others) for decision in read(*messages)]
    assert decisions == [("dot.7", ()), ("neg.1", ("dot.7",)), ("neg.2", ("dot.7",))]


def test_a_refusal_repeated_in_other_words_is_reported_once() -> None:
    first = (
        "instruction_fusion",
        "Fusion rejected: producer 'exp.1' is too expensive to duplicate into 'add.7'.",
    )
    again = ("instruction_fusion", f"not fusing operand {EXP} because expensive producer would be duplicated")
    assert [decision.kind for decision in read(first, again)] == ["too-expensive-to-repeat"]
    assert [decision.kind for decision in read(again)] == ["expensive-repeated"]
    assert [decision.kind for decision in read(again, again)] == ["expensive-repeated"]


def test_a_reconsidered_fusion_is_reported_once_and_each_performed_fusion_each_time() -> None:
    tried = ("instruction_fusion", "Evaluating fusion: producer 'exp.1' into consumer 'add.7'.")
    fusing_message = ("instruction_fusion", f"Fusing {EXP} into {ADD}")
    assert Counter(decision.verdict for decision in read(tried, tried, fusing_message, fusing_message)) == {
        "tried": 1,
        "done": 2,
    }


@pytest.mark.parametrize("message", list_messages(), ids=lambda message: message.kind)
def test_each_message_has_a_place_and_each_decision_a_sentence(message: Message) -> None:
    assert bool(message.sentence) == (message.verdict not in {"nothing", "context"})
    assert message.place or message.kind == "stack"
    field_names = {name for _, name, _, _ in Formatter().parse(message.sentence) if name}
    assert field_names <= {*message.pattern.groupindex, "instruction", "other", "asker"}


def test_each_message_has_its_own_key() -> None:
    assert [kind for kind, times in Counter(message.kind for message in list_messages()).items() if times > 1] == []


def test_the_tables_list_the_source_files_whose_messages_they_explain() -> None:
    explained = {(source, message.topic) for message in list_messages() for source in message.sources}
    # Of one file that is listed no words are known.
    assert explained == {*find_topics().items()} - {("sharding_propagation", "sharding")}


@pytest.mark.parametrize("source", find_topics())
def test_unknown_messages_are_not_explained(source: str) -> None:
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
    ("message", "others", "asker"),
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
def test_a_layout_is_requested_by_the_instruction_that_the_pass_named_last(
    message: str, others: tuple[str, ...], asker: str
) -> None:
    (decision,) = read(("layout_assignment", message), ("layout_assignment", SET))
    assert (decision.kind, decision.instruction, decision.others) == ("layout-set", "multiply.1", others)
    assert decision.sentence.startswith("multiply.1 is written in the layout {0,1}, as requested by ")
    assert asker in decision.sentence


@pytest.mark.parametrize(
    ("source", "text", "sentence"),
    [
        ("copy_insertion", "Num copies before copy-insertion: 1", "The module has 1 copy before the pass."),
        ("copy_insertion", "Num copies after copy-insertion: 1000", "The module has 1,000 copies after the pass."),
        ("all_reduce_combiner", "Combined 1 AllReduce ops", "The pass combined 1 collective into one."),
        (
            "latency_hiding_scheduler",
            "Total wasted cycles: 1.5e+06",
            "In total, the cost model expects the device to wait 1.5e+06 cycles for asynchronous operations.",
        ),
    ],
)
def test_a_number_agrees_with_its_noun(source: str, text: str, sentence: str) -> None:
    (decision,) = read((source, text))
    assert decision.sentence == sentence


def test_a_message_outside_of_passes_does_not_use_names_of_another_source_file() -> None:
    messages = (
        ("copy_removal", "TryElideCopy starting for: copy.5"),
        ("algorithm", "Allocation result = Success"),
        ("copy_removal", "    TryElideCopy: Region-based interference is true."),
    )
    names = [decision.instruction for decision in tell(*messages, run=-1).decisions]
    assert names == ["", "copy.5"]


def test_collectives_are_reported_with_the_partitioned_instruction() -> None:
    decisions = read(
        (
            "spmd_partitioner",
            "  2.00MiB : %dot.9 = f32[8,4]{1,0} dot(%a, %b)     * %all-gather = f32[8]{0} all-gather(%p)",
        ),
        ("spmd_partitioner", "     * %dot = f32[1,4]{1,0} dot(%a, %all-gather)"),
        ("spmd_partitioner", "     * %all-reduce.1 = f32[1,4]{1,0} all-reduce(%dot)"),
    )
    assert [(decision.verdict, decision.instruction, decision.others) for decision in decisions] == [
        ("done", "dot.9", ("all-gather",)),
        ("noted", "dot", ("dot.9",)),
        ("done", "all-reduce.1", ("dot.9",)),
    ]


def test_a_target_lists_the_topics_that_its_compiler_does_not_log() -> None:
    log = (LogEvent(0, "p", "a-pass", "jit_f", "hlo_dce", 1, "x"),)
    capture_with_log = capture(layer.layer, *layer.EXAMPLE).retold(log=log)
    silent = {
        target: read_reasons(capture_with_log.retold(target=target)).silent
        for target in ("cpu:8", "h100", "tpu-v5e:2x4")
    }
    assert {target: list(topics) for target, topics in silent.items()} == {
        "cpu:8": ["schedule", "rematerialization"],
        "h100": ["vectorization"],
        "tpu-v5e:2x4": ["matmul", "vectorization"],
    }
    assert all(silent["cpu:8"].values())
    assert read_reasons(capture_with_log.retold(log=())).silent == {}
