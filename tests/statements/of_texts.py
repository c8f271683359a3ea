"""Statements about jaxprs and HLO's text: what they say, and what XLA's parser takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from bare import shape, states
from jax.experimental import pallas
from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

if TYPE_CHECKING:
    from collections.abc import Callable


@states("pipeline")
def compiles_closed_over_numbers() -> tuple[object, object]:
    """An array that a function closes over is in the program, numbers and all."""
    flags_seen = []
    for array in (np.arange(1000.0, 1004.0, dtype=np.float32), jnp.arange(1000.0, 1004.0)):
        lowered = jax.jit(lambda x, array=array: x + array).lower(shape(4)).as_text()
        flags_seen.append("1.001000e+03" in lowered)
    return [True, True], flags_seen


def parse(module: str) -> str:
    """Return a module as XLA's parser reads and prints it, or what the parser says against it."""
    try:
        return str(_hlo.hlo_module_from_text(module).to_string())
    except Exception as error:  # noqa: BLE001 - the parser raises jaxlib's own class
        return f"refused: {error}"


@states("reading-hlo, ledger nested-operands")
def parses_nested_operands() -> tuple[object, object]:
    """Nested operands parse with their types, and `constant(0)` has none."""
    module = "HloModule m\nENTRY e {{\n  x = f32[4,4] parameter(0)\n  ROOT r = f32[4,4] maximum(x, {})\n}}"
    operands = ("broadcast(constant(0))", "f32[4,4] broadcast(f32[] constant(0))", "negate(x)")
    return [True, False, False], [parse(module.format(operand)).startswith("refused") for operand in operands]


@states("reading-hlo")
def keeps_source_lines() -> tuple[object, object]:
    """The parser takes source_file and source_line in metadata, and prints them back."""
    metadata = 'metadata={op_name="x" source_file="f.py" source_line=3}'
    return True, metadata in parse(f"HloModule m\nENTRY e {{\n  ROOT x = f32[4] parameter(0), {metadata}\n}}")


@states("pipeline")
def prints_locations_when_asked() -> tuple[object, object]:
    """`as_text("hlo")` has no metadata, and with debug_info=True it has."""
    lowered = jax.jit(lambda x: jnp.sin(x) * 2).lower(shape(4))
    return (False, True), tuple(
        "metadata=" in lowered.as_text("hlo", debug_info=with_locations) for with_locations in (False, True)
    )


@states("jaxpr, ledger grad-and-vmap-add")
def adds_primitives_under_vmap() -> tuple[object, object]:
    """Vmap adds broadcasts to a layer with a bias, and makes a gather of a slice."""

    def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        return x @ w + b

    def name(function: Callable[..., Any], *example: object) -> list[str]:
        return re.findall(r" = ([\w-]+)(?:\[| )", str(jax.make_jaxpr(function)(*example)))

    plain = name(layer, shape(8, 4), shape(4, 2), shape(2))
    mapped = name(jax.vmap(layer, in_axes=(0, None, None)), shape(5, 8, 4), shape(4, 2), shape(2))
    sliced = name(jax.vmap(lambda x, i: jax.lax.dynamic_slice(x, (i,), (2,))), shape(3, 8), shape(3, dtype=jnp.int32))
    expected = ((1, 1), True, True)
    return expected, (
        (plain.count("dot_general"), mapped.count("dot_general")),
        mapped.count("broadcast_in_dim") > plain.count("broadcast_in_dim"),
        "gather" in sliced,
    )


@states("ledger jaxpr-is-like-hlo")
def names_shared_functions() -> tuple[object, object]:
    """A jaxpr names a function that is called twice."""
    twice = str(jax.make_jaxpr(lambda x: jax.nn.relu(jax.nn.relu(x) + 1))(shape(4)))
    return True, twice.startswith("let relu = ")


@states("jaxpr, simplification, ledger unused-operations-removed")
def drops_what_is_unused() -> tuple[object, object]:
    """JAX drops what is unused when it lowers, inside calls, loops and branches too."""
    x = shape(8, 8)

    def called(x: jax.Array) -> jax.Array:
        return jax.jit(lambda x: (x + 1, x @ x))(x)[0]

    def scanned(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda c, _: ((c[0] + 1, c[1] @ c[1]), None), (x, x), None, length=4)[0][0]

    def looped(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] @ c[1], c[2] + 1), (0, x, x))[2]

    def branched(x: jax.Array) -> jax.Array:
        return jax.lax.cond(x[0, 0] > 0, lambda x: (x + 1, x @ x), lambda x: (x, x), x)[0]

    functions = (called, scanned, looped, branched)
    return [False] * 4, ["dot_general" in jax.jit(function).lower(x).as_text() for function in functions]


@states("peers")
def passes_a_kernel_through() -> tuple[object, object]:
    """A Pallas kernel for a TPU is one custom call in what JAX hands to XLA."""

    def double(source_ref: Any, write: Any) -> None:  # noqa: ANN401 - Pallas has no name for what a kernel is given
        write[...] = source_ref[...] * 2

    call = pallas.pallas_call(double, out_shape=shape(8, 128))
    lowered = jax.jit(call).trace(shape(8, 128)).lower(lowering_platforms=("tpu",)).as_text()
    return (1, 1), (lowered.count("stablehlo."), lowered.count("stablehlo.custom_call @tpu_custom_call"))
