"""Statements about kernels, layouts and loops: how many there are, and of which kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from bare import TYPES, count, everywhere, kinds, launched, same, shape, states, text
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

if TYPE_CHECKING:
    from collections.abc import Callable


@states("pipeline, fusion")
def makes_input_fusions_without_reduction() -> tuple[object, object]:
    """KInput on the H100 needs no reduction: a transpose, a scatter, a concatenation."""
    modules = (
        text(jnp.transpose, shape(1024, 1024), target="h100"),
        text(lambda x, i, u: x.at[i].add(u), shape(64, 128), shape(8, dtype=jnp.int32), shape(8, 128), target="h100"),
        text(lambda x, y: jnp.concatenate([x + 1, y * 2]), shape(640, 128), shape(64, 128), target="h100"),
    )
    return [(["kInput"], [0])] * 3, [(kinds(module), count(module, "reduce")) for module in modules]


@states("pipeline, fusion, ledger koutput-is-scatter")
def makes_output_fusions_without_product() -> tuple[object, object]:
    """KOutput on the TPU needs no product: a cumulative sum."""
    module = text(lambda x: jnp.cumsum(x, 1), shape(1024, 1024), target="tpu")
    return (True, [0, 0]), ("kOutput" in kinds(module), count(module, "dot", "convolution"))


@states("fusion, ledger scale-and-softmax-one-kernel")
def fits_a_row_of_softmax() -> tuple[object, object]:
    """The H100 makes one kernel of a softmax whose rows fit, and several where they do not."""
    modules = [text(lambda x: jax.nn.softmax(x * 2), shape(*size), target="h100") for size in ((256, 1024), (8, 65536))]
    return [1, True], [launched(modules[0]), launched(modules[1]) > 1]


@states("ledger reshapes-fused-freely")
def keeps_a_reshape_on_the_tpu() -> tuple[object, object]:
    """A reshape alone is a bitcast on CPU and H100, and a reshape on the TPU."""
    observed = everywhere(
        lambda target: count(text(lambda x: x.reshape(32, 32), shape(1024), target=target), "bitcast", "reshape")
    )
    return {"cpu": [1, 0], "h100": [1, 0], "tpu": [0, 1]}, observed


@states("fusion, ledger element-wise-fused-for-you")
def fuses_what_is_element_wise() -> tuple[object, object]:
    """Element-wise operations with one result are one kernel in each element type."""

    def look(target: str) -> list[int]:
        return [
            launched(text(lambda x: (x * 2 + 1) * x - x, shape(1024, dtype=dtype), target=target)) for dtype in TYPES
        ]

    return same([1, 1, 1]), everywhere(look)


@states("fusion, ledger element-wise-fused-for-you")
def makes_a_kernel_for_each_result() -> tuple[object, object]:
    """Element-wise operations with two results are two kernels on CPU and H100."""
    observed = everywhere(lambda target: launched(text(lambda x: (jnp.sin(x), jnp.cos(x)), shape(1024), target=target)))
    return {"cpu": 2, "h100": 2, "tpu": 1}, observed


@states("ledger normalize-fuses")
def waits_for_mean_and_deviation() -> tuple[object, object]:
    """No target makes one kernel of (x - mean) / std, at any size."""

    def look(target: str) -> bool:
        sizes = ((8,), (16, 16), (1024, 1024))
        modules = [text(lambda x: (x - x.mean()) / x.std(), shape(*size), target=target) for size in sizes]
        return min(map(launched, modules)) > 1

    return same(value=True), everywhere(look)


@states("layout, ledger layouts-are-tiled")
def packs_small_integers() -> tuple[object, object]:
    """The CPU's layouts have no tiles, and say more than an order where elements are packed."""
    head = text(lambda x: x, shape(8, dtype=jnp.int4)).split("\n")[0]
    return (True, False), ("E(4)" in head, "T(" in head)


@states("layout, one-day")
def takes_a_chosen_layout() -> tuple[object, object]:
    """A layout can be chosen for an argument."""
    chosen = Format(Layout((1, 0)), SingleDeviceSharding(jax.devices("cpu")[0]))
    executable = jax.jit(lambda x: x * 2, in_shardings=chosen).lower(shape(3, 5)).compile()
    return True, "{(f32[3,5]{0,1})->" in (executable.as_text() or "").split("\n")[0]


@states("glossary")
def loops_over_one_value() -> tuple[object, object]:
    """A while loop with one value carries that value instead of a tuple."""

    def loop(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda x: x.sum() < 100, lambda x: x * 2, x)

    def carried(target: str) -> list[str]:
        return re.findall(r" = (\(?)\S+ while\(", text(loop, shape(4), target=target))

    return same([""]), everywhere(carried)


@states("when-xla-helps")
def inlines_one_turn() -> tuple[object, object]:
    """A scan of one iteration becomes its body, and one of two or more becomes a while loop."""

    def scan(length: int) -> Callable[[jax.Array], jax.Array]:
        return lambda x: jax.lax.scan(lambda c, _: (jnp.tanh(c), None), x, None, length=length)[0]

    def look(target: str) -> list[int]:
        return [count(text(scan(turns), shape(8, 8), target=target), "while")[0] for turns in (1, 2, 16)]

    return same([0, 1, 1]), everywhere(look)
