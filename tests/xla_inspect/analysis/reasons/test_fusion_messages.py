"""What compilers say of fusion and matmuls is read as decisions, and each kind of words has a plain sentence."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

import pytest

from programs import layer, scatter_update, softmax, transformer_block
from xla_inspect import capture, capture_all
from xla_inspect.analysis.reasons import Decision, Reasons, list_messages, read_reasons
from xla_inspect.analysis.reasons.messages import Message, find_topics
from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect import Captures

MINE: tuple[Literal["fusion", "matmul"], ...] = ("fusion", "matmul")
MESSAGES = tuple(message for message in list_messages() if message.topic in MINE)
STEPS = "fusion_log"


def read(*said: tuple[str, str]) -> tuple[Decision, ...]:
    """Return what is read of texts, each with the file that says it, in one run of a pass."""
    log = tuple(LogEvent(3, "p", "fusion", "jit_f", source, 1, text) for source, text in said)
    return read_reasons(capture(layer.layer, *layer.EXAMPLE).retold(log=log)).decisions


ADD = "%add.7 = f32[64,256]{1,0} add(%ynn_fusion, %add.6)"
EXP = "%exp.1 = f32[8,8]{1,0} exponential(%sub.7)"

WORDS = tomllib.loads((Path(__file__).parent / "fusion_words.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", WORDS["example"], ids=lambda example: example["kind"])
def test_words_are_a_decision_of_a_known_kind_about_what_they_name(example: Mapping[str, Any]) -> None:
    (decision,) = read((example["source"], example["text"]))
    assert (decision.kind, decision.verdict) == (example["kind"], example["verdict"])
    assert (decision.instruction, [*decision.others]) == (example["instruction"], example["others"])
    assert decision.sentence
    assert "{" not in decision.sentence


@pytest.mark.parametrize(("reason", "kind"), WORDS["because"].items())
def test_each_reason_that_the_sources_give_is_explained_on_its_own(reason: str, kind: str) -> None:
    (decision,) = read(("instruction_fusion", f"not fusing operand {EXP} because {reason}"))
    assert (decision.kind, decision.verdict, decision.words) == (kind, "refused", reason)


@pytest.mark.parametrize(("reason", "kind"), WORDS["cost"].items())
@pytest.mark.parametrize(("form", "others"), [("stays", ()), ("not into add.7", ("add.7",))])
def test_each_reason_of_the_cost_log_is_explained_on_its_own(
    reason: str, kind: str, form: str, others: tuple[str, ...]
) -> None:
    (decision,) = read((STEPS, f"exp.1 {form}: {reason}"))
    assert (decision.kind, decision.verdict) == (kind, "refused")
    assert (decision.instruction, decision.others, decision.words) == ("exp.1", others, reason)


def test_what_names_nothing_is_about_the_pair_that_was_named_before() -> None:
    said = (
        ("tpu_instruction_fusion", f"Pre-considering\n  producer={EXP}\n  consumer={ADD}"),
        ("tpu_instruction_fusion", "No fusing; output fusion is disabled."),
    )
    (decision,) = read(*said)
    assert (decision.kind, decision.instruction, decision.others) == ("tpu-after-matmul-only", "exp.1", ("add.7",))


def test_the_user_that_was_considered_before_has_a_part_in_a_refusal_that_names_none() -> None:
    considered = ("cpu_instruction_fusion", f"Considering for fusion: operand 0 of {ADD}")
    refused = ("instruction_fusion", f"not fusing operand {EXP} because Producer is not loop-fusible.")
    (decision,) = read(considered, refused)
    assert (decision.instruction, decision.others) == ("exp.1", ("add.7",))


def test_what_goes_to_a_library_goes_there_with_the_operation_that_it_was_begun_for() -> None:
    said = [("library_rewriter", "Starting a fusion with: %dot.7 = f32[8] dot(%a, %b)")]
    said += [("library_rewriter", f"  Up: Fusing with: %{name} = f32[8] negate(%c)") for name in ("neg.1", "neg.2")]
    told = [(decision.instruction, decision.others) for decision in read(*said)]
    assert told == [("dot.7", ()), ("neg.1", ("dot.7",)), ("neg.2", ("dot.7",))]


def test_a_refusal_in_other_words_right_after_is_not_told_again() -> None:
    first = (
        "instruction_fusion",
        "Fusion rejected: producer 'exp.1' is too expensive to duplicate into 'add.7'.",
    )
    again = ("instruction_fusion", f"not fusing operand {EXP} because expensive producer would be duplicated")
    assert [decision.kind for decision in read(first, again)] == ["too-expensive-to-repeat"]
    assert [decision.kind for decision in read(again)] == ["expensive-repeated"]
    assert [decision.kind for decision in read(again, again)] == ["expensive-repeated"]


def test_what_a_pass_comes_back_to_is_told_once_and_what_it_does_each_time() -> None:
    tried = ("instruction_fusion", "Evaluating fusion: producer 'exp.1' into consumer 'add.7'.")
    done = ("instruction_fusion", f"Fusing {EXP} into {ADD}")
    assert Counter(decision.verdict for decision in read(tried, tried, done, done)) == {"tried": 1, "done": 2}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_what_a_sentence_names_its_pattern_finds(message: Message) -> None:
    named = {name for _, name, _, _ in Formatter().parse(message.sentence) if name}
    assert named - {"instruction", "other", "asker"} <= message.pattern.groupindex.keys()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_each_decision_has_a_sentence_and_each_message_a_place_in_the_source(message: Message) -> None:
    assert bool(message.sentence) == (message.verdict not in {"context", "nothing"})
    assert re.fullmatch(r"libtpu|xla/[\w/]+\.cc", message.place)


def test_no_two_messages_have_one_key() -> None:
    keys = Counter(message.kind for message in list_messages())
    assert [message.kind for message in MESSAGES if keys[message.kind] > 1] == []


@pytest.mark.parametrize("topic", MINE)
def test_a_table_lists_the_files_whose_words_it_explains(topic: Literal["fusion", "matmul"]) -> None:
    listed = {source for source, about in find_topics().items() if about == topic}
    assert {source for message in MESSAGES if message.topic == topic for source in message.sources} == listed


@pytest.fixture(scope="module")
def told() -> Mapping[str, Captures]:
    """Four programs with their reasons."""
    programs: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "softmax": (softmax.softmax, softmax.EXAMPLE),
        "layer": (layer.layer, layer.EXAMPLE),
        "block": (transformer_block.transformer_block, transformer_block.EXAMPLE),
        "scatter": (scatter_update.scatter_update, scatter_update.EXAMPLE),
    }
    return {name: capture_all(function, *example, reasons=True) for name, (function, example) in programs.items()}


def find(reasons: Reasons, instruction: str, *, verdict: str = "refused") -> set[tuple[str, tuple[str, ...]]]:
    """Return the kinds of decisions about an instruction, with the others that had a part."""
    return {
        (decision.kind, decision.others)
        for decision in reasons.about(instruction)
        if (decision.instruction, decision.verdict) == (instruction, verdict)
    }


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_nearly_every_line_about_fusion_and_matmuls_is_explained(told: Mapping[str, Captures], target: str) -> None:
    sources = {source for message in MESSAGES for source in message.sources}
    for name, captures in told.items():
        lines = sum(event.source in sources for event in captures[target].log)
        reasons = read_reasons(captures[target])
        unknown = {source: count for source, count in reasons.unexplained.items() if source in sources}
        assert lines
        assert sum(unknown.values()) < 0.05 * lines, (name, unknown)


@pytest.mark.usefixtures("all_targets")
def test_each_target_says_why_softmax_is_the_kernels_that_it_is(told: Mapping[str, Captures]) -> None:
    of = {target: read_reasons(captured) for target, captured in told["softmax"].items()}
    # Two kernels of XLA's beside the library's: the division would be computed for each of the row's elements.
    assert find(of["cpu"], "divide") & {("not-profitable", ("broadcast_multiply_fusion",))}
    # Both normalizations are faster as Triton kernels, and become one.
    fused = find(of["h100"], "triton_softmax.3", verdict="done")
    assert ("fused", ("exp.1.0",)) in fused
    assert {kind for kind, _ in fused} >= {"normalization-fused"}
    # The maximum is finished before what is computed from it begins.
    assert ("tpu-not-with-elementwise", ("sub.6",)) in find(of["tpu-v5e"], "reduce_max.7")


@pytest.mark.usefixtures("all_targets")
def test_each_target_says_why_the_layers_bias_is_in_the_matmuls_kernel_or_not(told: Mapping[str, Captures]) -> None:
    of = {target: read_reasons(captured) for target, captured in told["layer"].items()}
    assert "library-takes" in {decision.kind for decision in of["cpu"].of("matmul")}
    assert {kind for kind, _ in find(of["cpu"], "ynn_fusion")} == {"reads-more-when-repeated"}
    assert {kind for kind, _ in find(of["h100"], "gemm_fusion_dot")} >= {"gpu-producer-not-fusible"}
    assert ("fused", ("add.7",)) in find(of["tpu-v5e"], "convolution", verdict="done")


@pytest.mark.usefixtures("all_targets")
def test_the_steps_of_the_cost_model_are_decisions_of_the_pass_that_took_them(told: Mapping[str, Captures]) -> None:
    captured = told["block"]["h100"]
    decisions = read_reasons(captured).decisions
    steps = [decision for decision in decisions if decision.source == STEPS]
    (run,) = {decision.run for decision in steps}
    assert {decision.pass_name for decision in steps} == {"priority-fusion"}
    assert {decision.run for decision in decisions if decision.kind == "fused" and decision.run == run} == {run}
    # No fusion is told twice: by the pass, and by the cost model.
    assert [decision for decision in steps if decision.verdict == "done"] == []
    assert {decision.verdict for decision in steps} == {"tried", "refused"}
