"""Claims about running: what compiles when, as JAX itself reports it."""

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

# JAX keeps what it compiled for as long as the process lives, and this module may be loaded anew in it.
_LENGTHS = itertools.count(1001 + secrets.randbelow(20_000))


def _vector() -> jax.Array:
    """Return a float32 vector of a length that no other check has used."""
    vector: jax.Array = jax.device_put(np.ones(next(_LENGTHS), np.float32))
    return vector


def _compiled(call: Callable[[], object]) -> list[str]:
    """Return the names of the modules that a call compiles."""
    with watched() as seen:
        jax.block_until_ready(call())
    return [name.removeprefix("jit(").removesuffix(")") for name in seen.compiled]


def _layer() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return relu(x @ w + b) to be called eagerly and under jit, in shapes that no other check has used."""
    b = _vector()
    x, w = jax.device_put(np.ones((4, 8), np.float32)), jax.device_put(np.ones((8, b.size), np.float32))

    def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ w + b)

    jitted = jax.jit(layer)
    return lambda: layer(x, w, b), lambda: jitted(x, w, b)


@cache
def eager_and_jitted() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules that relu(x @ w + b) compiles without `jit`, and those with it, in order."""
    eager, jitted = _layer()
    return tuple(_compiled(eager)), tuple(_compiled(jitted))


def eager_runs_each_operation() -> Finding:
    """Without `jit` each operation runs as a kernel of its own."""
    eager, jitted = eager_and_jitted()
    evidence = f"modules `{'`, `'.join(eager)}`; under `jit` only `{', '.join(jitted)}`"
    return only(len(eager) > len(jitted) == 1, evidence)


def disabled_jit_is_eager() -> Finding:
    """With `jax_disable_jit` a jitted function runs operation by operation, as it does without `jit`."""
    plain, _ = eager_and_jitted()
    _, jitted = _layer()
    with jax.disable_jit():
        disabled = tuple(_compiled(jitted))
    # Not how many: what does not depend on the shapes may have been compiled before.
    smaller = next((name for name in disabled if name not in plain), "nothing else")
    return only("layer" not in disabled, "no module of the whole function is compiled").but(
        disabled == plain, f"eagerly it compiles `{'`, `'.join(plain)}`; with it smaller modules, such as `{smaller}`"
    )


def _double() -> Callable[..., jax.Array]:
    """Return a function that was never compiled."""
    return jax.jit(lambda x, by=2.0: x * by)


@cache
def _by_call() -> tuple[int, ...]:
    """Return how many modules each of five calls compiles: three with one shape, one with another, one as at first."""
    double, first, second = _double(), _vector(), _vector()
    return tuple(len(_compiled(lambda x=x: double(x))) for x in (first, first, first, second, first))  # type: ignore[misc]  # the usual idiom


def compiles_each_time() -> Finding:
    """Another shape compiles anew, and so does each call."""
    once, again, still, other, back = _by_call()
    evidence = f"the first call with a shape compiles {once}, with another shape {other}"
    finding = only((once, other) == (1, 1), evidence).but(
        0 not in (again, still, back), f"later calls with a shape that was seen compile {again}, {still} and {back}"
    )
    calls = _by_call()
    return finding.compared("compiles", len(calls), {"five calls in two shapes": sum(calls)})


def compiled_once_per_shape() -> Finding:
    """A compiled function is used again for the same shape, and another shape needs one compile."""
    evidence = f"five calls, the fourth of another shape, compile {', '.join(map(str, _by_call()))}"
    return only(_by_call() == (1, 0, 0, 1, 0), evidence)


def padding_avoids_compiles() -> Finding:
    """Padded to one size, arrays of several sizes compile once."""
    sizes = (3, 5)
    plain, padded = _double(), _double()
    arrays = [np.ones(size, np.float32) for size in sizes]
    unpadded = sum(len(_compiled(lambda x=x: plain(x))) for x in arrays)  # type: ignore[misc]  # the usual idiom
    one = sum(len(_compiled(lambda x=x: padded(np.pad(x, (0, 8 - x.size))))) for x in arrays)  # type: ignore[misc]  # likewise
    return only(one == 1 < unpadded, f"{len(sizes)} sizes: {plural(unpadded, 'compile')}, padded to one: {one}")


@cache
def _first_and_later() -> tuple[Watched, float, Watched, float]:
    """Return what a first call did and its seconds, and what five later ones did and the seconds of the middle one."""
    x, f = _vector(), jax.jit(lambda x: lax.mul(lax.tanh(x), lax.sin(x)))
    with watched() as first:
        slow = clocked(lambda: f(x))
    with watched() as later:
        fast = statistics.median(clocked(lambda: f(x)) for _ in range(5))
    return first, slow, later, fast


def first_call_compiles() -> Finding:
    """The first call includes the compile, and later ones are faster."""
    first, slow, later, fast = _first_and_later()
    evidence = f"compiles in the first call: {len(first.compiled)}, in the five after it: {len(later.compiled)}"
    included = len(first.compiled) == 1 and 0 < first.compiling <= slow
    return only(included and not later.compiled and fast < first.compiling, evidence)


def first_call_traces_and_compiles() -> Finding:
    """The first call traces, compiles and keeps the result."""
    first, _, later, _ = _first_and_later()
    numbers = [len(names) for names in (first.traced, first.compiled, later.traced, later.compiled)]
    early, late = (f"{traces} traced, {compiles} compiled" for traces, compiles in itertools.batched(numbers, 2))
    return only(numbers[0] > 0 and numbers[1:] == [1, 0, 0], f"first call: {early}; the five after it: {late}")


def static_argument_recompiles() -> Finding:
    """A static argument with another value compiles anew."""
    x, f = _vector(), jax.jit(lambda x, n: x * n, static_argnums=(1,))
    numbers = [len(_compiled(lambda n=n: f(x, n))) for n in (2, 2, 3)]  # type: ignore[misc]  # the usual idiom
    return only(numbers == [1, 0, 1], f"compiles for the values 2, 2 and 3: {', '.join(map(str, numbers))}")


def key_is_shape_and_type() -> Finding:
    """The same shapes and element types find the executable, and nothing else matters."""
    double, x = _double(), _vector()
    same = [len(_compiled(lambda: double(x, np.float32(2)))) for _ in range(2)]
    weak = len(_compiled(lambda: double(x, 2.0)))
    sharded = jax.device_put(x, jax.sharding.SingleDeviceSharding(jax.devices("cpu")[-1]))
    moved = len(_compiled(lambda: double(sharded, np.float32(2))))
    expect(moved == 1, "another sharding compiles anew")
    expect(static_argument_recompiles().cases[""].holds is True, "another static argument compiles anew")
    again = only(same == [1, 0], "a second call with the same signature compiles nothing")
    return again.but(weak == 0, f"the number 2.0, of the same type but weakly so, compiles {weak} more")
