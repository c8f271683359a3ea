"""Checks of claims about running: compilations that JAX itself reports."""

from __future__ import annotations

import itertools
import secrets
import statistics
from functools import cache
from typing import TYPE_CHECKING

import jax
import numpy as np
from jax import lax

from claims.evidence import Watched, clocked, expect, watched
from claims.finding import Finding, only
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Callable

# JAX caches compiled functions for the lifetime of the process, in which this module may be loaded again, so each
# check needs a shape that no earlier check has compiled.
_LENGTHS = itertools.count(1001 + secrets.randbelow(20_000))


def _vector() -> jax.Array:
    """Return a float32 vector of a length that no other check has used."""
    vector: jax.Array = jax.device_put(np.ones(next(_LENGTHS), np.float32))
    return vector


def _compiled(call: Callable[[], object]) -> list[str]:
    """Return the names of the modules that a call compiles."""
    with watched() as events:
        jax.block_until_ready(call())
    return [name.removeprefix("jit(").removesuffix(")") for name in events.compiled]


def _layer() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return relu(x @ w + b) as an eager and as a jitted call, in shapes that no other check has used."""
    # The matrix gets the same new length, so that no earlier check has compiled these shapes.
    b = _vector()
    x, w = jax.device_put(np.ones((4, 8), np.float32)), jax.device_put(np.ones((8, b.size), np.float32))

    def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ w + b)

    jitted = jax.jit(layer)
    return lambda: layer(x, w, b), lambda: jitted(x, w, b)


@cache
def eager_and_jitted() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the modules that relu(x @ w + b) compiles without `jit` and with it, each in order."""
    eager, jitted = _layer()
    return tuple(_compiled(eager)), tuple(_compiled(jitted))


def eager_runs_each_operation() -> Finding:
    """Return the finding on the claim that each operation runs as a separate kernel without `jit`."""
    eager, jitted = eager_and_jitted()
    evidence = f"JAX compiles the modules `{'`, `'.join(eager)}`, and under `jit` only `{', '.join(jitted)}`"
    return only(len(eager) > len(jitted) == 1, evidence)


def disabled_jit_is_eager() -> Finding:
    """Return the finding on the claim that `jax_disable_jit` runs each operation separately, as without `jit`."""
    plain, _ = eager_and_jitted()
    _, jitted = _layer()
    with jax.disable_jit():
        disabled = tuple(_compiled(jitted))
    # The number of modules may differ: modules that do not depend on the shapes may have been compiled before.
    smaller = next((name for name in disabled if name not in plain), "nothing else")
    return only("layer" not in disabled, "no module of the whole function is compiled").but(
        disabled == plain,
        f"eager mode compiles `{'`, `'.join(plain)}`; `jax_disable_jit` compiles smaller modules, such as `{smaller}`",
    )


def _double() -> Callable[..., jax.Array]:
    """Return a new jitted function that multiplies its arguments and has never been compiled."""
    return jax.jit(lambda x, by=2.0: x * by)


@cache
def _by_call() -> tuple[int, ...]:
    """Return the number of modules that each of five calls compiles; only the fourth has another shape."""
    double, first, second = _double(), _vector(), _vector()
    return tuple(len(_compiled(lambda x=x: double(x))) for x in (first, first, first, second, first))  # type: ignore[misc]  # the usual idiom


def compiles_each_time() -> Finding:
    """Return the finding on the claim that each new shape compiles, and that each call compiles."""
    once, again, still, other, back = _by_call()
    evidence = (
        f"the first call with a shape compiles {plural(once, 'module')}, the first call with another shape {other}"
    )
    finding = only((once, other) == (1, 1), evidence).but(
        0 not in (again, still, back), f"later calls with a known shape compile {again}, {still} and {back} modules"
    )
    calls = _by_call()
    return finding.compared("compilations", len(calls), {"five calls, two shapes": sum(calls)})


def compiled_once_per_shape() -> Finding:
    """Return the finding on the claim that a known shape compiles nothing, and another shape compiles once."""
    evidence = f"compilations in five calls, the fourth with another shape: {', '.join(map(str, _by_call()))}"
    return only(_by_call() == (1, 0, 0, 1, 0), evidence)


def padding_avoids_compiles() -> Finding:
    """Return the finding on the claim that arrays of several sizes compile once if they are padded to one size."""
    sizes = (3, 5)
    plain, padded = _double(), _double()
    arrays = [np.ones(size, np.float32) for size in sizes]
    unpadded = sum(len(_compiled(lambda x=x: plain(x))) for x in arrays)  # type: ignore[misc]  # the usual idiom
    one = sum(len(_compiled(lambda x=x: padded(np.pad(x, (0, 8 - x.size))))) for x in arrays)  # type: ignore[misc]  # likewise
    return only(
        one == 1 < unpadded, f"{len(sizes)} sizes: {plural(unpadded, 'compilation')}; padded to one size: {one}"
    )


@cache
def _first_and_later() -> tuple[Watched, float, Watched, float]:
    """Return the events and seconds of a first call, and the events and median seconds of five later calls."""
    x, f = _vector(), jax.jit(lambda x: lax.mul(lax.tanh(x), lax.sin(x)))
    with watched() as first:
        slow = clocked(lambda: f(x))
    with watched() as later:
        # Other processes may disturb a single call, so the median of several counts.
        fast = statistics.median(clocked(lambda: f(x)) for _ in range(5))
    return first, slow, later, fast


def first_call_compiles() -> Finding:
    """Return the finding on the claim that the first call compiles, and later calls take less time than compiling."""
    first, slow, later, fast = _first_and_later()
    evidence = (
        f"compilations in the first call: {len(first.compiled)}; in the five calls after it: {len(later.compiled)}"
    )
    included = len(first.compiled) == 1 and 0 < first.compiling <= slow
    return only(included and not later.compiled and fast < first.compiling, evidence)


def first_call_traces_and_compiles() -> Finding:
    """Return the finding on the claim that the first call traces, compiles and caches the result."""
    first, _, later, _ = _first_and_later()
    numbers = [len(names) for names in (first.traced, first.compiled, later.traced, later.compiled)]
    early, late = (f"{traces} traced, {compiles} compiled" for traces, compiles in itertools.batched(numbers, 2))
    return only(numbers[0] > 0 and numbers[1:] == [1, 0, 0], f"first call: {early}; five calls after it: {late}")


def static_argument_recompiles() -> Finding:
    """Return the finding on the claim that another value of a static argument compiles again."""
    x, f = _vector(), jax.jit(lambda x, n: x * n, static_argnums=(1,))
    numbers = [len(_compiled(lambda n=n: f(x, n))) for n in (2, 2, 3)]  # type: ignore[misc]  # the usual idiom
    return only(numbers == [1, 0, 1], f"compilations for the values 2, 2 and 3: {', '.join(map(str, numbers))}")


def key_is_shape_and_type() -> Finding:
    """Return the finding on the claim that shapes and element types, and nothing else, find the executable."""
    double, x = _double(), _vector()
    same = [len(_compiled(lambda: double(x, np.float32(2)))) for _ in range(2)]
    # A Python number has a weak type, which is a part of the cache key.
    weak = len(_compiled(lambda: double(x, 2.0)))
    sharded = jax.device_put(x, jax.sharding.SingleDeviceSharding(jax.devices("cpu")[-1]))
    moved = len(_compiled(lambda: double(sharded, np.float32(2))))
    expect(moved == 1, "another sharding compiles again")
    expect(static_argument_recompiles().cases[""].holds is True, "another static argument compiles again")
    again = only(same == [1, 0], "a second call with the same signature compiles nothing")
    return again.but(weak == 0, f"the weakly typed number 2.0 compiles {plural(weak, 'more module')}")
