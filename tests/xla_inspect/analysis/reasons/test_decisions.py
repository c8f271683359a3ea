"""Decisions of compilers about real programs: fusions, layouts, rewrites and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

from programs import attention, layer, rnn, scatter_update, softmax, train_step, transformer_block
from xla_inspect import capture, capture_all
from xla_inspect.analysis.reasons import Decision, Reasons, find_rules, read_reasons
from xla_inspect.analysis.reasons.messages import find_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect import Captures

pytestmark = pytest.mark.usefixtures("all_targets")

FUSION = ("fusion", "matmul")
PASSES = ("simplification", "layout", "copies", "schedule", "rematerialization", "memory", "sharding")
TARGETS = ("cpu", "h100", "tpu-v5e")
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    module.__name__: (getattr(module, module.__name__.rpartition(".")[2]), module.EXAMPLE)
    for module in (attention, layer, rnn, scatter_update, softmax, train_step, transformer_block)
}
MATRIX = jax.ShapeDtypeStruct((64, 128), jnp.float32)


def transpose_both(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    return (x @ w).T, x.T / 3.0


def swap(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    swapped: tuple[jax.Array, jax.Array] = lax.fori_loop(0, 10, lambda _, both: (both[1], both[0] + 1), (x, y))
    return swapped


def train_deeply(x: jax.Array, *weights: jax.Array) -> jax.Array:
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x**2).sum()


@pytest.fixture(scope="module")
def transposed() -> dict[str, Reasons]:
    captures = capture_all(transpose_both, MATRIX, jax.ShapeDtypeStruct((128, 256), jnp.float32), reasons=True)
    return {target: read_reasons(captures[target]) for target in TARGETS}


def find(reasons: Reasons, kind: str) -> list[Decision]:
    return [decision for decision in reasons.decisions if decision.kind == kind]


@pytest.mark.parametrize("target", TARGETS)
def test_the_factor_has_the_layout_that_the_transpose_asks_for(transposed: dict[str, Reasons], target: str) -> None:
    layouts = {decision.instruction.partition(".")[0]: decision for decision in find(transposed[target], "layout-set")}
    assert [other.partition(".")[0] for other in layouts["multiply"].others] == ["transpose"]
    assert "as requested by the parameters, the results or the target" in layouts["x"].sentence


def test_the_h100_copies_an_argument_into_the_layout_that_a_reader_wants(transposed: dict[str, Reasons]) -> None:
    (copied,) = find(transposed["h100"], "copied-for-layout")
    assert (copied.instruction.partition(".")[0], copied.others[0].partition(".")[0]) == ("x", "multiply")
    assert "f32[64,128]{0,1}" in copied.sentence


@pytest.mark.parametrize("target", TARGETS)
def test_the_division_by_three_became_a_multiplication(transposed: dict[str, Reasons], target: str) -> None:
    rules = [
        rule for rule in find_rules(transposed[target].of("simplification")) if rule.decision.instruction[:3] == "div"
    ]
    assert [(rule.decision.kind, rule.rule) for rule in rules] == [("division-as-multiplication", "")]


@pytest.mark.parametrize("target", TARGETS)
def test_the_transpose_of_the_matmul_is_done_by_the_matmul(transposed: dict[str, Reasons], target: str) -> None:
    (decision,) = find(transposed[target], "transposed-matmul")
    assert decision.others[0].startswith("dot")


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_swaps_its_carry_copies_arguments_and_results(target: str) -> None:
    reasons = read_reasons(capture(swap, MATRIX, MATRIX, target=target, reasons=True))
    read_only = {decision.instruction.partition(".")[0] for decision in find(reasons, "copied-read-only")}
    assert {"x", "y"} <= read_only
    copies = [decision for decision in reasons.of("copies") if decision.kind in {"copy-protects", "copy-in-middle"}]
    assert all(decision.verdict == "refused" and decision.instruction.startswith("copy") for decision in copies)
    protected = [decision.others for decision in copies if decision.kind == "copy-protects"]
    assert any("copy" in buffer for _, buffer in protected), protected
    (after, *_) = [decision for decision in find(reasons, "copy-counted") if "after" in decision.words]
    assert "copies after the pass" in after.sentence


@pytest.mark.parametrize("target", TARGETS)
def test_a_donated_value_is_copied_for_the_update_that_writes_into_it(target: str) -> None:
    row = jax.ShapeDtypeStruct((128,), jnp.float32)
    reasons = read_reasons(
        capture(lambda x, row: (x.at[3].set(row), x.sum()), MATRIX, row, target=target, reasons=True, donate_argnums=0)
    )
    (writer, *_) = find(reasons, "copied-for-update")
    assert "update" in writer.instruction
    assert all(decision.kind != "copied-read-only" for decision in reasons.about("x.1"))


@pytest.mark.parametrize("target", ["cpu:8", "h100:8", "tpu-v5e:2x4"])
def test_an_all_gather_is_inserted_for_the_matmul_that_reads_shards(target: str) -> None:
    examples = (jax.ShapeDtypeStruct((1024, 512), jnp.bfloat16), jax.ShapeDtypeStruct((512, 2048), jnp.bfloat16))
    specs = (P("data", None), P("data", None))
    program = capture(lambda x, w: x @ w, *examples, target=target, reasons=True, mesh={"data": 8}, specs=specs)
    (decision, *_) = find(read_reasons(program), "collective-first-for")
    assert (decision.verdict, decision.others) == ("done", ("all-gather",))
    assert decision.instruction.startswith("dot")
    assert "Shardy" in find(read_reasons(program), "propagated-by-shardy")[0].sentence


@pytest.fixture(scope="module")
def captures() -> Mapping[str, Captures]:
    """The captures of `PROGRAMS` with the compilers' reasons, by the name of the program."""
    return {name: capture_all(function, *example, reasons=True) for name, (function, example) in PROGRAMS.items()}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nearly_all_messages_of_compilers_are_explained(
    captures: Mapping[str, Captures], name: str, target: str
) -> None:
    reasons = read_reasons(captures[name][target])
    for topics in (FUSION, PASSES):
        explained = sum(find_topics().get(event.source) in topics for event in captures[name][target].log)
        unknown = {source: count for source, count in reasons.unexplained.items() if find_topics()[source] in topics}
        assert explained > 20
        assert sum(unknown.values()) <= 0.05 * explained, unknown
    assert {decision.topic for decision in reasons.decisions} >= {
        "fusion",
        "simplification",
        "layout",
        "copies",
        "memory",
    }


def test_a_tpu_prefetches_arguments_into_its_fast_memory_and_logs_it() -> None:
    reasons = read_reasons(capture(attention.attention, *attention.EXAMPLE, target="tpu-v5e", reasons=True))
    prefetches = {decision.instruction: decision for decision in find(reasons, "prefetch-inserted")}
    assert any(name.startswith("copy-start") for name in prefetches)
    assert set(reasons.silent) == {"matmul", "vectorization"}
    assert not any(reasons.of(topic) for topic in reasons.silent)


def test_a_tpu_with_too_little_memory_recomputes_activations() -> None:
    batch, weights = jax.ShapeDtypeStruct((1 << 21, 256), jnp.float32), jax.ShapeDtypeStruct((256, 256), jnp.float32)
    step = jax.grad(train_deeply, argnums=tuple(range(1, 9)))
    reasons = read_reasons(capture(step, batch, *[weights] * 8, target="tpu-v5e", reasons=True))
    twice = [decision.instruction for decision in find(reasons, "rematerialized")]
    assert twice
    readers = [decision for decision in find(reasons, "reads-rematerialized") if decision.others[0] == twice[0]]
    assert readers
    assert all(decision.others[1].startswith(f"{twice[0]}.remat") for decision in readers)
    (after,) = [decision for decision in find(reasons, "peak-after") if decision.words.count("16.00GiB")]
    assert "before the pass, it was 16.00GiB" in after.sentence


def find_about(reasons: Reasons, instruction: str, *, verdict: str = "refused") -> set[tuple[str, tuple[str, ...]]]:
    """Return the kinds of decisions with a verdict about an instruction, with the other instructions involved."""
    return {
        (decision.kind, decision.others)
        for decision in reasons.about(instruction)
        if (decision.instruction, decision.verdict) == (instruction, verdict)
    }


def test_each_target_gives_the_reasons_for_the_kernels_of_softmax(captures: Mapping[str, Captures]) -> None:
    of = {target: read_reasons(captured) for target, captured in captures["programs.softmax"].items()}
    # Two kernels of XLA's beside the library's: the division would be computed for each of the row's elements.
    assert find_about(of["cpu"], "divide") & {("not-profitable", ("broadcast_multiply_fusion",))}
    # Both normalizations are faster as Triton kernels, and become one.
    fused = find_about(of["h100"], "triton_softmax.3", verdict="done")
    assert ("fused", ("exp.1.0",)) in fused
    assert {kind for kind, _ in fused} >= {"normalization-fused"}
    # The maximum is finished before what is computed from it begins.
    assert ("tpu-not-with-elementwise", ("sub.6",)) in find_about(of["tpu-v5e"], "reduce_max.7")


def test_each_target_gives_the_reason_why_the_bias_is_fused_with_the_matmul_or_not(
    captures: Mapping[str, Captures],
) -> None:
    of = {target: read_reasons(captured) for target, captured in captures["programs.layer"].items()}
    assert "library-takes" in {decision.kind for decision in of["cpu"].of("matmul")}
    assert {kind for kind, _ in find_about(of["cpu"], "ynn_fusion")} == {"reads-more-when-repeated"}
    assert {kind for kind, _ in find_about(of["h100"], "gemm_fusion_dot")} >= {"gpu-producer-not-fusible"}
    assert ("fused", ("add.7",)) in find_about(of["tpu-v5e"], "convolution", verdict="done")


def test_the_steps_of_the_cost_model_are_decisions_of_the_pass_that_took_them(captures: Mapping[str, Captures]) -> None:
    captured = captures["programs.transformer_block"]["h100"]
    decisions = read_reasons(captured).decisions
    steps = [decision for decision in decisions if decision.source == "fusion_log"]
    (run,) = {decision.run for decision in steps}
    assert {decision.pass_name for decision in steps} == {"priority-fusion"}
    assert {decision.run for decision in decisions if decision.kind == "fused" and decision.run == run} == {run}
    # No fusion is told twice: by the pass, and by the cost model.
    assert [decision for decision in steps if decision.verdict == "done"] == []
    assert {decision.verdict for decision in steps} == {"tried", "refused"}
