"""Estimates of time for AMD's GPUs, which nobody could measure for these models."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect import capture, time
from xla_inspect.questions.time.finding import AMD_NOTE, estimate_time
from xla_inspect.targets import find_hardware

pytestmark = pytest.mark.usefixtures("all_targets")

# The seconds of the kernel of a product of square bfloat16 matrices on an MI300X, by their size, from
# https://github.com/clarkechong/scale-your-amd (b8742185), runs/20260805-matmul-autotune4 (jax-rocm7-plugin 0.10.0).
PUBLISHED = {1024: 11.9e-6, 2048: 32.9e-6, 4096: 164.6e-6, 8192: 1112e-6}


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


@pytest.mark.parametrize("size", PUBLISHED)
def test_the_published_times_of_an_mi300x_are_within_the_range(size: int) -> None:
    square = jax.ShapeDtypeStruct((size, size), jnp.bfloat16)
    answer = time(product, square, square, target="mi300x")
    [products] = [kind for kind in answer.kinds if kind.text == "matmuls"]
    assert products.low_seconds < PUBLISHED[size] < products.high_seconds
    assert 0.5 < PUBLISHED[size] / products.seconds < 1.2
    assert AMD_NOTE in answer.notes


@pytest.mark.parametrize("target", ["mi250", "mi300x", "mi350x"])
def test_an_estimate_for_an_amd_gpu_is_above_the_time_at_peak_rates(target: str) -> None:
    square = jax.ShapeDtypeStruct((4096, 4096), jnp.float32)
    answer = time(product, square, square, target=target)
    hardware = find_hardware(target)
    assert hardware is not None
    roof = hardware.find_product("f32")
    assert roof is not None
    assert answer.seconds is not None
    assert 2 * 4096**3 / roof.rate < answer.low_seconds < answer.seconds < answer.high_seconds
    # The compiler has no estimates for an MI250, and the others have some.
    assert any("the compiler's own estimates are missing" in note.lower() for note in answer.notes) == (
        target == "mi250"
    )


def test_a_collective_between_amd_gpus_uses_infinity_fabric() -> None:
    x, w = (jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((4096, 4096), (4096, 14336)))
    sharded: dict[str, Any] = {"mesh": {"data": 8}, "specs": (P(None, "data"), P("data"))}
    answers = {
        target: estimate_time(capture(product, x, w, target=f"{target}:8", **sharded))
        for target in ("mi300x", "mi350x")
    }
    waits = {}
    for target, answer in answers.items():
        [waits[target]] = [kind for kind in answer.kinds if kind.text == "exposed collectives"]
    # Each device sends 7/4 of the result, 112 MiB, over seven links.
    amount = 7 / 4 * 4096 * 14336 * 2
    assert amount / 448e9 < waits["mi300x"].low_seconds < waits["mi300x"].seconds < 2 * amount / 448e9
    assert waits["mi350x"].seconds < waits["mi300x"].seconds
