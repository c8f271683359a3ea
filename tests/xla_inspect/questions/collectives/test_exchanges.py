"""The collectives of real programs: their lines, axes, runs, reasons and overlapping work."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture
from xla_inspect.questions.collectives.finding import Exchanges, find_exchanges
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable

EIGHT = ("cpu:8", "h100:8", "tpu-v5e:2x4")
LAYERS, BATCH, WIDTH, INNER = 4, 64, 256, 1024


def shape(*sizes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


def line_of(text: str) -> int:
    """Return the number of the first line of this file that contains a text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def step(params: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    def layer(x: jax.Array, weights: dict[str, jax.Array]) -> tuple[jax.Array, None]:
        h = jnp.tanh(x @ weights["up"])  # widens
        return x + h @ weights["down"], None  # narrows

    def loss(params: dict[str, jax.Array]) -> jax.Array:
        return jnp.mean(jax.lax.scan(layer, x, params)[0] ** 2)  # averages

    value, slopes = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, slope: p - 0.1 * slope, params, slopes), value


PARAMS = {"up": shape(LAYERS, WIDTH, INNER), "down": shape(LAYERS, INNER, WIDTH)}
STEP = (PARAMS, shape(BATCH, WIDTH))
SPREAD: dict[str, tuple[dict[str, int], tuple[Any, ...]]] = {
    "data": ({"data": 8}, (P(), P("data"))),
    "fsdp": ({"data": 8}, ({"up": P(None, "data"), "down": P(None, "data")}, P("data"))),
    "tensor": ({"model": 8}, ({"up": P(None, None, "model"), "down": P(None, "model")}, P())),
    "both": (
        {"data": 4, "model": 2},
        ({"up": P(None, "data", "model"), "down": P(None, "model", "data")}, P("data")),
    ),
}


def ask(
    function: Callable[..., Any], args: tuple[Any, ...], target: str, mesh: dict[str, int], specs: tuple[Any, ...]
) -> Exchanges:
    program = capture(function, *args, target=target, mesh=mesh, specs=specs, passes=False)
    return find_exchanges("step", program, {})


def ask_step(sharding: str, target: str) -> Exchanges:
    mesh, specs = SPREAD[sharding]
    return ask(step, STEP, target, mesh, specs)


@pytest.mark.parametrize("target", EIGHT)
def test_gradients_are_summed_over_the_axis_of_the_batch(target: str) -> None:
    answer = ask_step("data", target)
    summed = answer.exchanges[0]
    assert (summed.kind, summed.axes, summed.group, summed.is_asked) == ("all-reduce", ("data",), 8, False)
    assert summed.operand_bytes * (summed.runs or 0) == 2 * LAYERS * WIDTH * INNER * 4
    assert all("params['up']" in name or "params['down']" in name for name in summed.arguments)
    assert summed.arguments
    assert summed.reason == "whose gradient is summed over data because the batch is sharded over data"
    assert {place.line for place in summed.places} <= {line_of("# widens"), line_of("# narrows")}


@pytest.mark.parametrize("target", EIGHT)
def test_sharded_weights_are_gathered_at_the_lines_that_use_them(target: str) -> None:
    answer = ask_step("fsdp", target)
    gathered = [exchange for exchange in answer.exchanges if exchange.kind == "all-gather" and exchange.arguments]
    assert {name for exchange in gathered for name in exchange.arguments} == {"params['up']", "params['down']"}
    assert {exchange.reason.partition(" and ")[0] for exchange in gathered} == {"stored as P(None, 'data', None)"}
    assert {place.line for exchange in gathered for place in exchange.places} == {
        line_of("# widens"),
        line_of("# narrows"),
    }
    assert {exchange.runs for exchange in gathered} == {LAYERS}


@pytest.mark.parametrize("target", EIGHT)
def test_a_product_over_a_sharded_dimension_is_summed(target: str) -> None:
    answer = ask_step("tensor", target)
    assert [(exchange.kind, exchange.axes, exchange.runs) for exchange in answer.exchanges] == [
        ("all-reduce", ("model",), LAYERS),
        ("all-reduce", ("model",), LAYERS),
    ]
    contracted = "dot_general contracts a dimension that is sharded over model"
    assert {exchange.reason for exchange in answer.exchanges} == {contracted}
    assert [exchange.scope for exchange in answer.exchanges].count("backward") == 1


@pytest.mark.parametrize("target", EIGHT)
def test_the_axes_of_a_collective_match_its_groups(target: str) -> None:
    answer = ask_step("both", target)
    assert {exchange.axes for exchange in answer.exchanges} == {("data",), ("model",)}
    assert {(exchange.axes[0], exchange.group) for exchange in answer.exchanges} == {("data", 4), ("model", 2)}
    assert answer.mesh == (("data", 4), ("model", 2))


@pytest.mark.parametrize("target", EIGHT)
def test_collectives_in_shard_map_are_requested_by_the_program(target: str) -> None:
    ring = [(device, (device + 1) % 8) for device in range(8)]

    @partial(jax.shard_map, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    def exchange(x: jax.Array) -> jax.Array:
        for _ in range(2):
            x = jax.lax.ppermute(jnp.sin(x), "x", ring)
        x = jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
        return x + jax.lax.psum(x, "x")

    answer = ask(exchange, (shape(512, 512),), target, {"x": 8}, (P("x"),))
    assert {entry.is_asked for entry in answer.exchanges} == {True}
    assert {entry.kind: entry.reason.removesuffix("_invariant") for entry in answer.exchanges} == {
        "all-reduce": "psum",
        "all-to-all": "all_to_all",
        "collective-permute": "ppermute",
    }
    assert {entry.axes for entry in answer.exchanges} == {("x",)}


@pytest.mark.parametrize("target", EIGHT)
def test_lookups_in_a_sharded_table_are_summed(target: str) -> None:
    tokens = jax.ShapeDtypeStruct((64, 32), jnp.int32)
    answer = ask(
        lambda table, tokens: jnp.sin(table[tokens]),
        (shape(8192, 256), tokens),
        target,
        {"data": 2, "model": 4},
        (P("model"), P("data")),
    )
    assert [exchange.reason for exchange in answer.exchanges] == [
        "the table of gather is sharded over model: each device looks up the rows that it has"
    ]


@pytest.mark.parametrize("target", EIGHT)
def test_a_full_rematerialization_is_reported(target: str) -> None:
    def respread(x: jax.Array) -> jax.Array:
        y = jnp.sin(x).reshape(8, 8, 64)  # reshapes
        return jax.lax.with_sharding_constraint(y, P(None, "a", "b")) * 3

    answer = ask(respread, (shape(64, 64),), target, {"a": 4, "b": 2}, (P(("a", "b")),))
    (whole,) = answer.exchanges
    assert whole.is_rematerialized
    assert whole.places[0].line == line_of("# reshapes")
    assert "from P(('a', 'b'), None) to P(None, 'a', 'b'), as test_exchanges.py:" in whole.reason
    assert any(str(part).startswith("Full rematerialization at test_exchanges.py:") for part in answer.tell())


def test_slicing_weights_in_a_loop_is_not_a_rematerialization() -> None:
    assert not any(exchange.is_rematerialized for exchange in ask_step("fsdp", "cpu:8").exchanges)


def test_work_between_start_and_done_overlaps_with_the_collective() -> None:
    for exchange in ask_step("fsdp", "tpu-v5e:2x4").exchanges:
        assert (exchange.meanwhile is not None) == exchange.is_async
    work = [exchange.meanwhile for exchange in ask_step("fsdp", "tpu-v5e:2x4").exchanges if exchange.is_overlapped]
    assert work
    assert all(exchange and exchange.flops > BATCH * WIDTH and exchange.least_seconds for exchange in work)
    # No kernel takes less time than at the peak rates.
    assert all(exchange and (exchange.seconds or 0.0) > (exchange.least_seconds or 0.0) for exchange in work)


def test_a_synchronous_collective_is_not_overlapped() -> None:
    answer = ask_step("fsdp", "cpu:8")
    assert not any(exchange.is_async for exchange in answer.exchanges)
    assert "no kernel runs during a collective" in str(next(iter(answer.tell())))


def test_the_first_sentence_counts_runs_bytes_and_the_largest() -> None:
    summary = str(next(iter(ask_step("tensor", "cpu:8").tell())))
    size = LAYERS * 2 * BATCH * WIDTH * 4 // 1024
    assert summary.startswith(
        f"step on CPU x 8: 2 collectives with 8 runs. In a step, the input of each device is {size} KiB"
    )
    assert "all-reduce at test_exchanges.py:" in summary


def test_a_program_of_one_device_exchanges_nothing() -> None:
    answer = find_exchanges("sine", capture(jnp.sin, shape(8), passes=False), {})
    assert answer.holds
    assert list(answer.tell()) == ["sine on CPU: no collectives; it runs on one device."]


def test_a_program_that_does_not_compile_is_reported() -> None:
    with pytest.raises(RuntimeError) as raised:
        capture(lambda x: jax.nn.softmax(x @ x.T) @ x, shape(200_000, 1024), target="tpu-v5e", passes=False)
    answer = find_exchanges("big", raised.value.capture, {})  # type: ignore[attr-defined]  # as documented
    assert not answer.holds
    assert " does not compile, so its collectives are unknown" in str(next(iter(answer.tell())))


def test_a_loop_of_unknown_length_counts_once_and_is_reported() -> None:
    def descend(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda x: x[0, 0] < 1, lambda x: (x @ w.T) @ w, x)

    answer = ask(descend, (shape(256, 256), shape(64, 256)), "cpu:8", {"model": 8}, (P("model"), P()))
    assert {exchange.runs for exchange in answer.exchanges} == {None}
    assert any("unknown trip count counts as one iteration" in str(part) for part in answer.tell())


def test_a_product_in_steps_passes_shards_around_the_devices() -> None:
    def project(x: jax.Array, w: jax.Array) -> jax.Array:
        return x @ w

    # On this many chips, the TPU's compiler splits the gather to overlap it with the product.
    wide = (
        jax.ShapeDtypeStruct((8192, 4096), jnp.bfloat16),
        jax.ShapeDtypeStruct((4096, 16384), jnp.bfloat16),
    )
    specs = (P("data"), P("data", "model"))
    answer = ask(project, wide, "tpu-v5e:16x16", {"data": 16, "model": 16}, specs)
    moved = [exchange for exchange in answer.exchanges if exchange.kind == "collective-permute"]
    assert {exchange.reason for exchange in moved} == {
        "dot_general is computed in steps: the shards over data are passed around the devices"
    }
    assert {exchange.axes for exchange in moved} == {("data",)}


@pytest.mark.parametrize("target", EIGHT)
def test_a_window_over_the_edge_of_a_shard_reads_from_the_next_device(target: str) -> None:
    def blur(image: jax.Array, window: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(image, window, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    answer = ask(blur, (shape(8, 64, 64, 16), shape(3, 3, 16, 32)), target, {"x": 8}, (P(None, "x"), P()))
    assert [(exchange.kind, exchange.reason) for exchange in answer.exchanges] == [
        ("collective-permute", "conv_general_dilated reads elements of other devices' shards over x")
    ] * 2


def product(x: jax.Array, w: jax.Array) -> jax.Array:
    result: jax.Array = jnp.tanh(x) @ w
    return result


X, W = shape(BATCH, WIDTH), shape(WIDTH, WIDTH)


@pytest.mark.parametrize("target", EIGHT)
@pytest.mark.parametrize(
    ("mesh", "specs", "copies", "whole"),
    [
        ({"x": 8}, (P(), P()), 8, ("x", "w")),
        ({"x": 4, "y": 2}, (P("x"), P()), 2, ("w",)),
        ({"x": 8}, (P("x"), P()), 1, ("w",)),
        ({"x": 4, "y": 2}, (P("x"), P(None, "y")), 1, ()),
    ],
)
def test_replicated_data_and_work_are_counted_without_collectives(
    target: str, mesh: dict[str, int], specs: tuple[Any, ...], copies: int, whole: tuple[str, ...]
) -> None:
    answer = ask(product, (X, W), target, mesh, specs)
    assert not answer.exchanges
    assert answer.replication is not None
    assert (answer.replication.copies, answer.replication.whole) == (copies, whole)
    assert answer.replication.whole_bytes == sum({"x": BATCH, "w": WIDTH}[name] * WIDTH * 4 for name in whole)


def test_a_fully_replicated_program_is_reported_as_not_sharded() -> None:
    text = " ".join(str(ask(product, (X, W), "cpu:8", {"x": 8}, (P(), P()))).split())
    assert "nothing is sharded: each of the 8 devices does all of the work" in text
    assert "stores all of the 2 arguments (320 KiB) and the result (64 KiB)" in text


def test_replicated_work_that_is_not_known_is_reported_as_missing() -> None:
    text = " ".join(str(ask(jnp.linalg.cholesky, (shape(64, 64),), "cpu:8", {"x": 8}, (P(),))).split())
    assert re.search(r"each of the 8 devices does all of the work, [\d.]+ k \+ \? flops", text)


def test_replicated_parameters_are_reported_next_to_a_sharded_batch() -> None:
    assert "Replicated: each device stores all of params['down'], params['up'] (8 MiB of" in " ".join(
        str(ask_step("data", "cpu:8")).split()
    )


def six(params: dict[str, jax.Array], x: jax.Array) -> dict[str, jax.Array]:
    def loss(params: dict[str, jax.Array]) -> jax.Array:
        y = jnp.tanh(x @ params["a"])  # first
        y = jnp.tanh(y @ params["b"])  # second
        y = jnp.tanh(y @ params["c"])  # third
        y = jnp.tanh(y @ params["d"])  # fourth
        return jnp.sum((y @ params["e"]) ** 2)  # fifth

    slopes: dict[str, jax.Array] = jax.grad(loss)(params)
    return slopes


@pytest.mark.parametrize("target", EIGHT)
def test_a_combined_gradient_belongs_to_the_lines_of_all_its_operands(target: str) -> None:
    params = dict.fromkeys("abcde", W)
    program = capture(six, params, X, target=target, mesh={"data": 8}, specs=(P(), P("data")), passes=False)
    [summed] = find_exchanges("six", program, {}).exchanges
    lines = {line_of(f"# {name}") for name in ("first", "second", "third", "fourth", "fifth")}
    assert {place.line for place in summed.places} == lines
    assert summed.where == f"test_exchanges.py:{summed.places[0].line} +4"
    [row] = [row for row in rank_launches(program).launches if row.role == "collective"]
    [largest] = [entry for entry in summarize("six", [program], "").targets[0].largest if entry.sort == "collective"]
    assert (row.where, largest.place) == (summed.where, summed.where)
