"""Checks of claims about tracing: the code that runs, the recorded program, and its transformations."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from claims.evidence import expect, program, watched
from claims.finding import Finding, by_target, only
from programs import mlp
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Capture

VECTOR = jax.ShapeDtypeStruct((10,), jnp.float32)


def xla_traces() -> Finding:
    """Return the finding on the claim that the Python function runs while XLA compiles."""
    runs: list[str] = []
    stage = ""

    def double(x: jax.Array) -> jax.Array:
        runs.append(stage)
        return x * 2

    with watched() as events:
        stage = "trace"
        traced = jax.jit(double).trace(VECTOR)
        before = len(events.compiled)
        stage = "lower"
        lowered = traced.lower()
        stage = "compile"
        lowered.compile()
    during = runs.count("compile")
    tracing, compiling = (plural(number, "time") for number in (runs.count("trace"), during))
    evidence = f"the function runs {tracing} while JAX traces and {compiling} while XLA compiles"
    # Without any recorded compilation, the evidence is void and must not refute the claim.
    return only(during > 0 or before > 0 or not events.compiled, evidence)


def literal_without_type() -> Finding:
    """Return the finding on the claim that a printed jaxpr shows a literal without a type."""

    def square(x: jax.Array) -> jax.Array:
        y = x * 2 + 1
        return y * y

    lines = [line.strip() for line in str(jax.make_jaxpr(square)(VECTOR)).splitlines()]
    product = next(line for line in lines if "mul" in line).removeprefix("let ")
    expect(product.replace("2.0:f32[]", "2.0") == "b:f32[10] = mul a 2.0", "the rest of the line is unchanged")
    return only(product == "b:f32[10] = mul a 2.0", f"it prints `{product}`")


def mlp_primitives() -> Finding:
    """Return the finding on the claim that the jaxpr of an MLP contains `dot_general`, `add` and `max`."""
    names = _primitives(mlp.mlp, *mlp.EXAMPLE)
    primitives = list(dict.fromkeys(names))
    biases = sum(len(shape.shape) == 1 for shape in mlp.EXAMPLE)
    expect(names.count("broadcast_in_dim") == biases, "the jaxpr has a broadcast for each bias")
    return only({"dot_general", "add", "max"} <= set(primitives), f"the jaxpr contains `{'`, `'.join(primitives)}`")


def _primitives(function: Callable[..., object], *example: object) -> list[str]:
    """Return the name of each primitive in a function's jaxpr and its inner jaxprs, as often as it occurs."""
    return re.findall(r" = ([\w-]+)(?:\[| )", str(jax.make_jaxpr(function)(*example)))


def grad_and_vmap() -> Finding:
    """Return the finding on the claim that `grad` adds matmuls, and `vmap` adds a dimension but no matmul."""

    def loss(*arguments: jax.Array) -> jax.Array:
        return mlp.mlp(*arguments).sum()

    once = _primitives(mlp.mlp, *mlp.EXAMPLE).count("dot_general")
    back = _primitives(jax.grad(loss, argnums=(1, 2, 3, 4)), *mlp.EXAMPLE).count("dot_general")
    x, *weights = mlp.EXAMPLE
    batch = jax.ShapeDtypeStruct((5, *x.shape), x.dtype)
    mapped = jax.vmap(mlp.mlp, in_axes=(0, None, None, None, None))
    wide = _primitives(mapped, batch, *weights)
    many = wide.count("dot_general")
    # The difference of counters contains only the primitives that `vmap` adds.
    additions = Counter(wide) - Counter(_primitives(mlp.mlp, *mlp.EXAMPLE))
    expect(set(additions) == {"broadcast_in_dim"}, f"vmap adds only broadcasts; found {dict(additions)}")
    wider = "f32[5,256,1024]" in str(jax.make_jaxpr(mapped)(batch, *weights))
    evidence = f"{plural(once, 'matmul')}; {back} with `grad`; {many} with `vmap`, each with one more dimension"
    return only(back > once == many and wider, evidence)


def python_if() -> Finding:
    """Return the finding on the claim that a Python `if` in a jitted function traces both branches."""
    ran: list[str] = []

    def choose(x: jax.Array, flag: bool) -> jax.Array:  # noqa: FBT001 - the flag that a reader would write
        if flag:
            ran.append("then")
            return x * 2
        ran.append("else")
        return x * 3

    # A static flag is an ordinary Python value during the trace, so the `if` can be decided.
    jax.jit(choose, static_argnums=1).trace(VECTOR, True)  # noqa: FBT003 - likewise
    try:
        jax.jit(choose).trace(VECTOR, True)  # noqa: FBT003 - likewise
        error = "no error"
    except jax.errors.TracerBoolConversionError as raised:
        error = f"`{type(raised).__name__}`"
    finding = only({"then", "else"} <= set(ran), f"only `{'`, `'.join(ran)}` ran; with a traced flag: {error}")
    return finding.compared("branches traced", 2, {"a static flag": len(set(ran))})


def cond_compiles_to_conditional() -> Finding:
    """Return the finding on the claim that `lax.cond` is a `conditional` in the optimized HLO."""

    def look(capture: Capture) -> tuple[bool, str]:
        number = capture.module.opcode_counts()["conditional"]
        selects = capture.module.opcode_counts()["select"]
        expect(capture.stablehlo.count("stablehlo.multiply") > 1, "JAX traces both branches")
        return number > 0, plural(number, "`conditional`") if number else f"{plural(selects, '`select`')} instead"

    return by_target(program("disputed", "cond"), look)


def pmap_is_current() -> Finding:
    """Return the finding on the claim that `pmap` is a current transformation, like `jit` and `vmap`."""
    first = inspect.getdoc(jax.pmap) or ""
    expect("shard_map" in first, "its documentation says that jax.shard_map replaces it")
    # The docstring is reStructuredText, but the evidence is Markdown.
    sentence = re.sub(r":py:func:`([^`]+)`", r"`\1`", ". ".join(first.splitlines()[0].split(". ")))
    return only(not sentence.startswith("Old way"), f"its own documentation begins: {sentence}")


def dialect_of_its_own() -> Finding:
    """Return the finding on the claim that `make_jaxpr` prints HLO in another notation."""
    from claims.reading_hlo import is_interchangeable

    return is_interchangeable()
