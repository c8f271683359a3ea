"""The rules for single launches and collectives, such as those for convolutions, attention and rings of chips."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture, time
from xla_inspect.analysis import Collective, list_collectives
from xla_inspect.analysis.estimates import Estimate, count_model_work, find_rates, time_step
from xla_inspect.analysis.estimates.collective_time import HOP, LINK_SHARES, START, name_links, time_collective
from xla_inspect.analysis.estimates.device_rates import GPU_LOAD
from xla_inspect.analysis.estimates.launch_time import BANDWIDTH, CONVOLUTION, FEW_CHANNELS, HUGE, SCATTER, STRIDED
from xla_inspect.analysis.estimates.model_flops import UNMASKED, estimate_call
from xla_inspect.hlo import parse_module
from xla_inspect.targets import find_hardware

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.analysis.estimates import TimedLaunch

pytestmark = pytest.mark.usefixtures("all_targets")


def shape(*sizes: int, dtype: jax.typing.DTypeLike = jnp.bfloat16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype)


def find_longest(function: Callable[..., Any], *example: jax.ShapeDtypeStruct, target: str = "h100") -> TimedLaunch:
    rates = find_rates(target)
    assert rates
    program = capture(function, *example, target=target, passes=False)
    return max(time_step(program, rates).launches, key=lambda one: one.total.likely)


def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv(x, kernel, (1, 1), "SAME")


def scatter(x: jax.Array, rows: jax.Array, y: jax.Array) -> jax.Array:
    return x.at[rows].add(y)


def test_the_range_of_an_addition_is_that_of_its_traffic_and_its_launch() -> None:
    rates = find_rates("h100")
    assert rates
    example = [jax.ShapeDtypeStruct((2**24,), jnp.float32)] * 2
    answer = time(capture(jnp.add, *example, target="h100", passes=False))
    traffic, least = 3 * 2**26 / rates.hardware.bandwidth, rates.floor + rates.gap
    best, usual, worst = BANDWIDTH["gpu"]
    assert (answer.low_seconds, answer.seconds, answer.high_seconds) == pytest.approx(
        (traffic / best + least.low, traffic / usual + least.likely, traffic / worst + least.high)
    )


def bend(x: jax.Array) -> jax.Array:
    for _ in range(12):
        x = jnp.exp(jnp.sin(x))
    return x


@pytest.mark.parametrize(("channels", "factor"), [(64, CONVOLUTION), (3, FEW_CHANNELS)])
def test_a_convolution_of_few_channels_takes_longer_than_its_bounds(channels: int, factor: float) -> None:
    longest = find_longest(convolve, shape(32, channels, 64, 64), shape(64, channels, 3, 3))
    assert longest.launched.launch.instruction.opcode == "custom-call"
    bound = max(longest.methods["tiles"], longest.methods["memory bandwidth"])
    assert longest.seconds.likely == pytest.approx(factor * bound)


def test_the_additions_of_a_scatter_take_longer_than_its_traffic() -> None:
    rows = shape(2**16, 64, dtype=jnp.float32)
    longest = find_longest(scatter, rows, shape(2**16, dtype=jnp.int32), rows)
    assert longest.seconds.likely == pytest.approx(SCATTER * longest.methods["memory bandwidth"])


def test_a_chain_of_special_functions_is_bound_by_the_vector_units() -> None:
    longest = find_longest(bend, shape(2**22, dtype=jnp.float32))
    assert (longest.kind, longest.limit) == ("vector work", "vector units")
    assert longest.seconds.likely > longest.methods["memory bandwidth"]


def test_a_long_sum_of_few_results_uses_all_multiprocessors_and_a_new_wave_takes_a_whole_one() -> None:
    longest = find_longest(jnp.matmul, shape(128, 65_536), shape(65_536, 128))
    assert longest.methods["tiles"] < longest.methods["memory bandwidth"]
    # XLA splits the sum of a product, and cuDNN that of a convolution.
    few = find_longest(convolve, shape(1, 512, 8, 8), shape(64, 512, 3, 3)).methods
    assert few["tiles"] < 50 * few["peak rates"]
    # Both sizes need the same number of waves.
    tiles = [find_longest(jnp.matmul, shape(size, 4096), shape(4096, 4096)).methods["tiles"] for size in (4096, 4224)]
    assert tiles[0] == pytest.approx(tiles[1])


def test_the_longer_one_of_compute_and_traffic_counts() -> None:
    longest = find_longest(jnp.matmul, shape(4096, 4096), shape(4096, 4096))
    seconds = max(longest.methods["tiles"], longest.methods["memory bandwidth"])
    assert longest.seconds.likely == pytest.approx(seconds * GPU_LOAD.likely)


def test_a_long_step_slows_a_gpus_products_but_neither_its_additions_nor_a_tpu() -> None:
    for target, function, factor in (
        ("h100", jnp.matmul, GPU_LOAD),
        ("h100", jnp.add, Estimate(1.0, 1.0, 1.0)),
        ("tpu-v5e", jnp.matmul, Estimate(1.0, 1.0, 1.0)),
    ):
        rates = find_rates(target)
        assert rates
        program = capture(function, shape(4096, 4096), shape(4096, 4096), target=target, passes=False)
        alone = time_step(program, replace(rates, load=Estimate(1.0, 1.0, 1.0))).launches[0]
        in_step = time_step(program, rates).launches[0]
        ratio = in_step.seconds.likely / alone.seconds.likely
        # A launch's own time is not under load.
        assert ratio == pytest.approx(factor.likely, rel=0.01)


def exchange(kind: str, groups: str) -> Collective:
    module = parse_module(f"""HloModule m, num_partitions=64

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}}

ENTRY %main (x: f32[64]) -> f32[64] {{
  %x = f32[64]{{0}} parameter(0)
  ROOT %y = f32[64]{{0}} {kind}(%x), {groups}
}}
""")
    return list_collectives(module)[0]


def test_collectives_share_links_along_a_common_axis_and_in_a_common_direction() -> None:
    rates = find_rates("tpu-v5p:4x4x4")
    assert rates
    last, first, plus, minus, all_ = (
        set(name_links(exchange(kind, groups), rates, 64))
        for kind, groups in (
            ("all-reduce", "replica_groups=[16,4]<=[64], to_apply=%add"),
            ("all-reduce", "replica_groups=[4,16]<=[16,4]T(1,0), to_apply=%add"),
            ("collective-permute", "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}"),
            ("collective-permute", "source_target_pairs={{0,3},{1,0},{2,1},{3,2}}"),
            ("all-reduce", "replica_groups={}, to_apply=%add"),
        )
    )
    assert not last & first
    assert not plus & minus
    assert plus | minus == last
    assert last | first == all_
    gpu = find_rates("h100:8")
    assert gpu
    assert name_links(exchange("all-reduce", "replica_groups={}, to_apply=%add"), gpu, 8) == ("links",)


def test_arrays_with_gaps_take_longer_on_a_gpu_than_their_traffic() -> None:
    def skip(x: jax.Array) -> jax.Array:
        return x[::2] + 1

    def spread_out(x: jax.Array) -> jax.Array:
        return jax.lax.pad(x, 0.0, [(0, 0, 1), (0, 0, 0)][: x.ndim])

    def begin(x: jax.Array) -> jax.Array:
        return x[1 : 2**23] + 1

    long, wide = shape(2**24, dtype=jnp.float32), shape(2**12, 2**12, dtype=jnp.float32)
    factors = []
    # Every second row of a matrix is read or written as a whole.
    for function, array in ((skip, long), (spread_out, long), (begin, long), (skip, wide), (spread_out, wide)):
        longest = find_longest(function, array)
        factors.append(longest.seconds.likely / longest.methods["memory bandwidth"])
    assert factors == pytest.approx([STRIDED, STRIDED, 1.0, 1.0, 1.0], rel=0.05)


def test_the_cycles_of_a_huge_product_on_a_tpu_are_too_many() -> None:
    longest = find_longest(jnp.matmul, shape(8192, 8192), shape(8192, 8192), target="tpu-v5e")
    assert longest.launched.work.products.total() > HUGE
    assert longest.methods["peak rates"] < longest.seconds.likely < longest.methods["estimated_cycles"]


def spread(x: jax.Array, w: jax.Array) -> jax.Array:
    mesh = jax.sharding.get_abstract_mesh()
    y: jax.Array = jax.shard_map(
        lambda x, w: jax.lax.psum(x @ w, "x"), mesh=mesh, in_specs=(P(None, "x"), P("x")), out_specs=P()
    )(x, w)
    return y


@cache
def find_exchange() -> Collective:
    program = capture(
        spread, shape(1024, 8192), shape(8192, 1024), target="h100:8", mesh={"x": 8}, specs=(P(None, "x"), P("x"))
    )
    hardware = find_hardware("h100:8")
    assert hardware
    work = count_model_work(program, hardware)
    assert work
    # The shapes inside shard_map are those of one device already.
    assert work.flops == 2 * 1024 * 8192 * 1024 / 8
    (exchange,) = list_collectives(program.module)
    return exchange


def wait(target: str, group: int, operand_bytes: int, kind: str = "all-reduce") -> Estimate:
    rates = find_rates(target)
    assert rates
    # An instruction without groups of devices has one group.
    plain = parse_module("HloModule m\n\nENTRY %f () -> f32[] {\n  ROOT %c = f32[] constant(1)\n}\n").entry.root
    changed = replace(find_exchange(), instruction=plain, group=group, operand_bytes=operand_bytes, kind=kind)
    answer = time_collective(changed, rates, group, {})
    assert answer is not None
    assert answer.low <= answer.likely <= answer.high
    return answer


@pytest.mark.parametrize(
    ("target", "group", "paths"),
    [("tpu-v5p:4x1x1", 4, 2), ("tpu-v5p:4x4x1", 4, 2), ("tpu-v5p:4x4x1", 16, 4), ("tpu-v5e:4x4", 4, 1)],
)
def test_a_ring_sends_in_both_directions_and_a_line_in_one(target: str, group: int, paths: int) -> None:
    # An axis of four chips closes to a ring on a v5p, and not on a v5e.
    rates = find_rates(target)
    assert rates
    assert rates.link
    expected = 2 * 2**30 * (1 - 1 / group) / rates.link / paths / LINK_SHARES["tpu"][1]
    assert wait(target, group, 2**30).likely == pytest.approx(expected)


def test_a_small_collective_takes_the_time_of_its_hops_or_of_its_start() -> None:
    assert wait("tpu-v5e:4x4", 4, 4) == HOP * 3
    assert wait("h100:8", 8, 8).likely == pytest.approx(START.likely, rel=1e-3)
    assert wait("h100:8", 1, 2**30) == Estimate()


def test_an_all_to_all_sends_less_than_an_all_gather_of_the_same_operand() -> None:
    gather, exchange = (wait("tpu-v5e:4x4", 4, 2**30, kind).likely for kind in ("all-gather", "all-to-all"))
    # Three times the operand goes over the line for an all-gather, and as much as the operand for an all-to-all.
    assert gather == pytest.approx(3 * exchange)


def test_the_network_between_machines_limits_a_group_of_several() -> None:
    rates = find_rates("h100:1024")
    assert rates
    assert rates.network
    assert wait("h100:16", 16, 16).likely == pytest.approx(2 * START.likely, rel=1e-3)
    # The eight GPUs of a machine send the same data to the others only once, through eight connections.
    across = 2 * 2**30 * (1 - 8 / 1024)
    expected = across / (8 * rates.network) / LINK_SHARES["gpu"][1] + 2 * START.likely
    assert wait("h100:1024", 1024, 2**30).likely == pytest.approx(expected)


ATTENTION = """HloModule m

ENTRY %f (q: bf16[8,512,64], k: bf16[8,1024,64], v: bf16[8,1024,64], o: bf16[8,512,64], d: bf16[8,512,64]) -> bf16[] {{
  %q = bf16[8,512,64] parameter(0)
  %k = bf16[8,1024,64] parameter(1)
  %v = bf16[8,1024,64] parameter(2)
  %o = bf16[8,512,64] parameter(3)
  %d = bf16[8,512,64] parameter(4)
  ROOT %{name} = {result} custom-call({operands}), custom_call_target="tpu_custom_call"{settings}
}}
"""
SCORES = 2 * 8 * 512 * 1024 * 64


@pytest.mark.parametrize(
    ("name", "operands", "result", "settings", "is_masked", "flops"),
    [
        ("flash", "%q, %k, %v", "bf16[8,512,64]", "", False, 2 * SCORES),
        ("flash", "%q, %k, %v", "bf16[8,512,64]", "", True, 2 * UNMASKED * SCORES),
        ("splash", "%q, %k, %v, %o, %d", "(bf16[8,1024,64], bf16[8,1024,64])", "", False, 4 * SCORES),
        ("kernel", "%q, %k, %v", "bf16[8,512,64]", "", False, 0),
        ("flash", "%q, %k", "bf16[8,512,64]", "", False, 0),
        (
            "flash", "%q, %k, %v", "bf16[8,512,64]",
            ', backend_config={"custom_call_config":{"cost_estimate":{"flops":"7000"}}}', True, 7000,
        ),
    ],
)  # fmt: skip
def test_the_products_of_attention_follow_from_its_shapes_unless_the_kernel_states_them(  # noqa: PLR0913 - a table
    name: str, operands: str, result: str, settings: str, *, is_masked: bool, flops: float
) -> None:
    module = parse_module(ATTENTION.format(name=name, operands=operands, result=result, settings=settings))
    assert estimate_call(module, module.entry.root, is_masked=is_masked) == pytest.approx(flops)
