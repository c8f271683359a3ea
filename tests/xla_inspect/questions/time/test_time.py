"""The estimated time of a step: its range, its parts, and the rules that exclude a compiler's figures."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture, time
from xla_inspect.analysis import Count
from xla_inspect.analysis.estimates import (
    COLLECT,
    Task,
    count_model_work,
    find_rates,
    make_cpu_rates,
    time_step,
    walk_schedule,
)
from xla_inspect.questions.time.finding import estimate_time
from xla_inspect.targets import find_hardware, title

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture
    from xla_inspect.analysis.estimates import TimedLaunch
    from xla_inspect.questions.time.finding import TimeEstimate

pytestmark = pytest.mark.usefixtures("all_targets")

TARGETS = ("h100", "tpu-v5e")
LAYERS = 8


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


def stacked(weights: jax.Array, x: jax.Array) -> jax.Array:
    y, _ = jax.lax.scan(lambda h, w: (jax.nn.gelu(h @ w), None), x, weights)
    return y


def checkpointed(weights: jax.Array, x: jax.Array) -> jax.Array:
    layer = jax.checkpoint(lambda h, w: (jnp.tanh(jnp.tanh(h @ w) @ w), None))
    return jnp.sum(jax.lax.scan(layer, x, weights)[0])


def remembered(weights: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.sum(jax.lax.scan(lambda h, w: (jnp.tanh(jnp.tanh(h @ w) @ w), None), x, weights)[0])


def train(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    def loss(weights: list[jax.Array]) -> jax.Array:
        return jnp.mean((jax.nn.gelu(x @ weights[0]) @ weights[1]).astype(jnp.float32) ** 2)

    slopes = jax.grad(loss)(weights)
    return [weight - 1e-3 * slope for weight, slope in zip(weights, slopes, strict=True)]


def shape(*sizes: int, dtype: jax.typing.DTypeLike = jnp.bfloat16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype)


@cache
def compile_product(size: int, target: str) -> Capture:
    options = {COLLECT: True} if target == "h100" else {}
    return capture(product, shape(size, size), shape(size, size), target=target, options=options, passes=False)


@cache
def compile_training(target: str) -> Capture:
    options = {COLLECT: True} if target.startswith("h100") else {}
    weights = [shape(2048, 8192), shape(8192, 2048)]
    arguments: dict[str, Any] = {"mesh": {"data": 8}, "specs": ([P(), P()], P("data"))}
    return capture(train, weights, shape(32_768, 2048), target=target, options=options, passes=False, **arguments)


def find_longest(program: Capture) -> TimedLaunch:
    rates = find_rates(program.target)
    assert rates
    return max(time_step(program, rates).launches, key=lambda one: one.total.likely)


# The times in microseconds were measured on an H100 and used to tune the rules, so these tests only hold the tuning.
@pytest.mark.parametrize(
    ("function", "example", "measured"),
    [
        (product, (shape(512, 512), shape(512, 512)), 5.5),
        (product, (shape(1024, 1024), shape(1024, 1024)), 6.3),
        (product, (shape(4096, 4096), shape(4096, 4096)), 173.8),
        (jnp.add, (shape(2**24, dtype=jnp.float32),) * 2, 67.5),
        (jax.nn.softmax, (shape(8192, 8192, dtype=jnp.float32),), 181),
    ],
)
def test_the_measured_times_of_an_h100_are_inside_the_ranges_that_they_tuned(
    function: Callable[..., jax.Array], example: tuple[jax.ShapeDtypeStruct, ...], measured: float
) -> None:
    answer = time(function, *example, target="h100")
    # The time of a kernel leaves out the gap after it.
    assert answer.seconds
    assert answer.low_seconds - 4e-6 < measured * 1e-6 < answer.high_seconds
    assert answer.low_seconds < answer.seconds < answer.high_seconds
    if measured > 100:
        # A product by itself is faster than in a long step, for which the estimate is made.
        assert answer.seconds == pytest.approx(measured * 1e-6, rel=0.15)


@pytest.mark.parametrize("target", TARGETS)
def test_a_large_product_is_bound_by_compute_and_uses_the_compilers_figure(target: str) -> None:
    program = compile_product(4096, target)
    longest, answer = find_longest(program), estimate_time(program, "matmul.py:product")
    hardware = find_hardware(target)
    assert hardware
    bound = 2 * 4096**3 / hardware.matrix["bf16"]
    assert (longest.kind, longest.limit) == ("matmuls", "compute")
    assert {"h100": "sol", "tpu-v5e": "estimated_cycles"}[target] in longest.methods
    assert bound < longest.total.likely < 1.5 * bound
    assert answer.utilization == pytest.approx(bound / (answer.seconds or 0))
    text = " ".join(str(answer).split())
    assert text.startswith(f"product on {title(target)}: a step takes about ")
    assert f". By kind of work: {answer.kinds[0].text} " in text
    assert "model flops utilization" in " ".join(str(answer).partition("\n\n")[0].split())


def test_the_gpus_table_does_not_count_for_small_products_and_for_softmax() -> None:
    assert "sol" not in find_longest(compile_product(512, "h100")).methods
    softmax = capture(jax.nn.softmax, shape(8192, 8192), target="h100", options={COLLECT: True}, passes=False)
    longest = find_longest(softmax)
    assert '"name":"sol"' in softmax.after
    assert "sol" not in longest.methods
    assert (longest.kind, longest.limit) == ("memory-bound", "memory")


def test_rows_that_tensor_cores_cannot_load_as_a_whole_make_a_product_slower() -> None:
    even, odd = (time(product, shape(8192, 4096), shape(4096, size), target="h100") for size in (50_304, 50_257))
    assert 1.5 * (even.seconds or 0) < (odd.seconds or 0)


def test_the_cycles_of_a_tpu_count_less_for_additions_than_for_products() -> None:
    longest = find_longest(capture(jnp.add, *[shape(2**24, dtype=jnp.float32)] * 2, target="tpu-v5e", passes=False))
    assert longest.total.likely < 0.8 * longest.methods["estimated_cycles"]
    assert longest.total.likely > 3 * 2**26 / find_hardware("tpu-v5e").bandwidth  # type: ignore[union-attr]


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_counts_as_often_as_it_runs(target: str) -> None:
    few, many = (
        time(stacked, shape(layers, 2048, 2048), shape(8192, 2048), target=target) for layers in (LAYERS, 2 * LAYERS)
    )
    assert many.seconds == pytest.approx(2 * (few.seconds or 0), rel=0.05)


@pytest.mark.parametrize("target", ["h100:8", "tpu-v5e:2x4"])
def test_lines_and_kinds_add_up_to_the_step_and_collectives_are_exposed_or_hidden(target: str) -> None:
    answer = estimate_time(compile_training(target))
    for parts in (answer.lines, answer.kinds):
        assert sum(part.seconds for part in parts) == pytest.approx(answer.seconds)
        assert sum(part.low_seconds for part in parts) == pytest.approx(answer.low_seconds)
        assert sum(part.high_seconds for part in parts) == pytest.approx(answer.high_seconds)
    exchange = next(kind for kind in answer.kinds if kind.text == "exposed collectives")
    # An all-reduce of two gradients of 32 MiB sends seven eighths of both twice.
    rate = {"h100:8": 450e9, "tpu-v5e:2x4": 90e9}[target]
    least = 2 * 7 / 8 * 2 * 2**25 / rate
    assert exchange.limit == "interconnect"
    assert least < exchange.seconds + exchange.hidden_seconds < 2 * least
    assert 1 < answer.high_seconds / answer.low_seconds < 1.5 + 0.2


def test_the_work_between_start_and_done_hides_an_asynchronous_collective() -> None:
    module = compile_training("h100:8").module
    start = next(one for one in module.walk() if one.name == "all-reduce-start.1")
    end = next(one for one in module.walk() if one.name == "all-reduce-done.1")
    inner = next(one for one in module.walk() if one.name == "gemm_fusion_dot.4")
    order = list(module.entry.instructions)
    assert order.index(start) < order.index(inner) < order.index(end)
    for background, exposed in ((1.0, 0.0), (5.0, 2.0)):
        tasks = {start: Task(background=background, engines=("links",), done=end), inner: Task(compute=3.0)}
        schedule = walk_schedule(Count(module), tasks)
        assert (schedule.exposed[start], schedule.busy[inner]) == (exposed, 3.0)
        assert schedule.hidden[start] == background - exposed


@pytest.mark.parametrize("target", TARGETS)
def test_recomputation_is_no_work_of_the_model(target: str) -> None:
    example = shape(LAYERS, 1024, 1024), shape(4096, 1024)
    answers = [
        time(jax.grad(function, argnums=(0, 1)), *example, target=target) for function in (remembered, checkpointed)
    ]
    products = 2 * 2 * 4096 * 1024**2 * LAYERS
    assert [answer.model_flops for answer in answers] == [3 * products, 3 * products]
    assert answers[0].recomputed_flops == 0
    assert 0 < (answers[1].recomputed_flops or 0) <= products
    assert (answers[1].utilization or 0) < (answers[0].utilization or 0) < 1


def test_the_flops_of_a_sharded_program_are_those_of_one_device() -> None:
    hardware = find_hardware("h100:8")
    assert hardware
    work = count_model_work(compile_training("h100:8"), hardware)
    assert work
    # The gradient of the input is not computed.
    assert work.flops == 5 * 2 * 32_768 * 2048 * 8192 / 8


@pytest.mark.parametrize("target", TARGETS)
def test_without_the_compilers_figures_the_range_is_wider_and_the_answer_reports_the_gap(target: str) -> None:
    whole = compile_product(4096, target)
    rest = capture(product, shape(4096, 4096), shape(4096, 4096), target=target, passes=False).retold(code=())
    answers: list[TimeEstimate] = [estimate_time(whole), estimate_time(rest)]
    spans = [answer.high_seconds / answer.low_seconds for answer in answers]
    assert 1 < spans[0] < spans[1] < 3
    assert not answers[0].notes
    assert "own estimates are missing" in answers[1].notes[0]
    assert answers[1].seconds


def test_a_gpu_for_which_the_compiler_writes_no_figures_has_an_estimate_from_peak_rates() -> None:
    answer = time(product, shape(4096, 4096), shape(4096, 4096), target="a100")
    assert "writes none for this GPU" in answer.notes[0]
    assert 2 * 4096**3 / 312e12 < (answer.seconds or 0) < 2 * 2 * 4096**3 / 312e12


@pytest.mark.parametrize("target", TARGETS)
def test_the_range_of_the_smallest_programs_spans_at_most_a_factor_of_three(target: str) -> None:
    answer = time(product, shape(8, 128), shape(128, 128), target=target)
    assert 1 < answer.high_seconds / answer.low_seconds <= 3.001


def test_a_program_without_launches_takes_no_time_on_the_device() -> None:
    answer = time(lambda x: x, shape(8), target="tpu-v5e", donate_argnums=0)
    assert answer.seconds == 0
    assert "launches nothing" in str(answer)


def test_a_cpu_has_an_estimate_only_with_measured_rates() -> None:
    program = capture(product, shape(1024, 1024), shape(1024, 1024), target="cpu", passes=False)
    text = " ".join(str(estimate_time(program)).split())
    assert "`xla-inspect time SUBJECT --target cpu --calibrate` measures them on this machine" in text
    rates = make_cpu_rates(bandwidth=1e10, products={"bf16": 1e11, "f32": 1e11}, elements=1e10, launch=1e-6)
    answer = estimate_time(program, rates=rates)
    assert answer.seconds
    assert 2 * 1024**3 / 1e11 < answer.seconds < 4 * 2 * 1024**3 / 1e11


def test_a_program_that_does_not_compile_has_the_compilers_error() -> None:
    program = compile_product(512, "h100").retold(error="UNIMPLEMENTED: no such thing", after="")
    answer = estimate_time(program)
    assert not answer.holds
    assert str(answer) == "product does not compile for NVIDIA H100: UNIMPLEMENTED: no such thing"
