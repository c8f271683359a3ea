"""What passes decide about real programs: who asked for a layout, what a copy protects, which rule rewrote what."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

from programs import attention, rnn, train_step
from xla_inspect import capture, capture_all
from xla_inspect.analysis.reasons import Decision, Reasons, find_rules, read_reasons
from xla_inspect.analysis.reasons.messages import find_topics

pytestmark = pytest.mark.usefixtures("all_targets")

MINE = ("simplification", "layout", "copies", "schedule", "rematerialization", "memory", "sharding")
TARGETS = ("cpu", "h100", "tpu-v5e")
MATRIX = jax.ShapeDtypeStruct((64, 128), jnp.float32)


def turn(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    return (x @ w).T, x.T / 3.0


def swap(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    swapped: tuple[jax.Array, jax.Array] = lax.fori_loop(0, 10, lambda _, both: (both[1], both[0] + 1), (x, y))
    return swapped


def update(x: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
    return x.at[3].set(row), x.sum()


def train_deeply(x: jax.Array, *weights: jax.Array) -> jax.Array:
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x**2).sum()


def gather(x: jax.Array, w: jax.Array) -> jax.Array:
    return x @ w


@pytest.fixture(scope="module")
def turned() -> dict[str, Reasons]:
    told = capture_all(turn, MATRIX, jax.ShapeDtypeStruct((128, 256), jnp.float32), reasons=True)
    return {target: read_reasons(told[target]) for target in TARGETS}


def find(reasons: Reasons, kind: str) -> list[Decision]:
    return [each for each in reasons.decisions if each.kind == kind]


@pytest.mark.parametrize("target", TARGETS)
def test_the_factor_has_the_layout_that_the_transpose_asks_for(turned: dict[str, Reasons], target: str) -> None:
    asked = {each.instruction.partition(".")[0]: each for each in find(turned[target], "layout-set")}
    assert [other.partition(".")[0] for other in asked["multiply"].others] == ["transpose"]
    assert "asked for by what the parameters, the results or the target require" in asked["x"].sentence


def test_the_h100_copies_an_argument_into_the_layout_that_a_reader_wants(turned: dict[str, Reasons]) -> None:
    (copied,) = find(turned["h100"], "copied-for-layout")
    assert (copied.instruction.partition(".")[0], copied.others[0].partition(".")[0]) == ("x", "multiply")
    assert "f32[64,128]{0,1}" in copied.sentence


@pytest.mark.parametrize("target", TARGETS)
def test_the_division_by_three_became_a_multiplication(turned: dict[str, Reasons], target: str) -> None:
    rules = [each for each in find_rules(turned[target].of("simplification")) if each.decision.instruction[:3] == "div"]
    assert [(each.decision.kind, each.rule) for each in rules] == [("division-as-multiplication", "")]


@pytest.mark.parametrize("target", TARGETS)
def test_the_transpose_of_the_matmul_is_done_by_the_matmul(turned: dict[str, Reasons], target: str) -> None:
    (decision,) = find(turned[target], "transposed-matmul")
    assert decision.others[0].startswith("dot")


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_swaps_its_carry_copies_arguments_and_what_it_hands_on(target: str) -> None:
    reasons = read_reasons(capture(swap, MATRIX, MATRIX, target=target, reasons=True))
    read_only = {each.instruction.partition(".")[0] for each in find(reasons, "copied-read-only")}
    assert {"x", "y"} <= read_only
    kept = [each for each in reasons.of("copies") if each.kind in {"copy-protects", "copy-in-middle"}]
    assert all(each.verdict == "refused" and each.instruction.startswith("copy") for each in kept)
    protected = [each.others for each in kept if each.kind == "copy-protects"]
    assert any("copy" in written for _, written in protected), protected
    (after, *_) = [each for each in find(reasons, "copy-counted") if "after" in each.words]
    assert "copies after the pass" in after.sentence


@pytest.mark.parametrize("target", TARGETS)
def test_a_donated_value_is_copied_for_the_update_that_writes_into_it(target: str) -> None:
    row = jax.ShapeDtypeStruct((128,), jnp.float32)
    reasons = read_reasons(capture(update, MATRIX, row, target=target, reasons=True, donate_argnums=0))
    (writer, *_) = find(reasons, "copied-for-update")
    assert "update" in writer.instruction
    assert all(each.kind != "copied-read-only" for each in reasons.about("x.1"))


@pytest.mark.parametrize("target", ["cpu:8", "h100:8", "tpu-v5e:2x4"])
def test_a_gather_was_made_for_the_matmul_that_reads_parts(target: str) -> None:
    examples = (jax.ShapeDtypeStruct((1024, 512), jnp.bfloat16), jax.ShapeDtypeStruct((512, 2048), jnp.bfloat16))
    specs = (P("data", None), P("data", None))
    told = capture(gather, *examples, target=target, reasons=True, mesh={"data": 8}, specs=specs)
    (made, *_) = find(read_reasons(told), "collective-first-for")
    assert (made.verdict, made.others) == ("done", ("all-gather",))
    assert made.instruction.startswith("dot")
    assert "Shardy" in find(read_reasons(told), "propagated-by-shardy")[0].sentence


@pytest.mark.parametrize("target", TARGETS)
def test_nearly_all_that_passes_say_of_three_programs_is_explained(target: str) -> None:
    step = (train_step.train_step, train_step.EXAMPLE)
    for function, example in ((attention.attention, attention.EXAMPLE), (rnn.rnn, rnn.EXAMPLE), step):
        told = capture(function, *example, target=target, reasons=True)
        reasons = read_reasons(told)
        said = sum(find_topics().get(event.source) in MINE for event in told.log)
        unknown = {source: count for source, count in reasons.unexplained.items() if find_topics()[source] in MINE}
        assert said > 200
        assert sum(unknown.values()) <= 0.05 * said, unknown
        assert {each.topic for each in reasons.decisions} >= {"simplification", "layout", "copies", "memory"}


def test_a_tpu_brings_arguments_into_its_fast_memory_and_says_so() -> None:
    reasons = read_reasons(capture(attention.attention, *attention.EXAMPLE, target="tpu-v5e", reasons=True))
    brought = {each.instruction: each for each in find(reasons, "prefetch-inserted")}
    assert any(name.startswith("copy-start") for name in brought)
    assert set(reasons.silent) == {"matmul", "vectorization"}
    assert not any(reasons.of(topic) for topic in reasons.silent)


def test_a_tpu_that_is_too_small_computes_activations_twice() -> None:
    batch, weights = jax.ShapeDtypeStruct((1 << 21, 256), jnp.float32), jax.ShapeDtypeStruct((256, 256), jnp.float32)
    step = jax.grad(train_deeply, argnums=tuple(range(1, 9)))
    reasons = read_reasons(capture(step, batch, *[weights] * 8, target="tpu-v5e", reasons=True))
    twice = [each.instruction for each in find(reasons, "rematerialized")]
    assert twice
    readers = [each for each in find(reasons, "reads-rematerialized") if each.others[0] == twice[0]]
    assert readers
    assert all(each.others[1].startswith(f"{twice[0]}.remat") for each in readers)
    (after,) = [each for each in find(reasons, "peak-after") if each.words.count("16.00GiB")]
    assert "before it, 16.00GiB" in after.sentence
