"""Claims about running: what compiles when, as JAX itself reports it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from claims.evidence import clocked, count, watched
from claims.finding import Finding, only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LENGTHS = itertools.count(1001)


def _vectors(number: int) -> Iterator[jax.Array]:
    """Give float32 vectors, each of a length that no other check has used."""
    for length in itertools.islice(_LENGTHS, number):
        yield jax.device_put(np.ones(length, np.float32))


def _compiled(call: Callable[[], object]) -> list[str]:
    """Return the names of the modules that a call compiles."""
    with watched() as seen:
        jax.block_until_ready(call())
    return [name.removeprefix("jit(").removesuffix(")") for name in seen.compiled]


def _layer() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return relu(x @ w + b) to be called eagerly and under jit, in shapes that no other check has used."""
    (b,) = _vectors(1)
    x, w = jax.device_put(np.ones((4, 8), np.float32)), jax.device_put(np.ones((8, b.size), np.float32))

    def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ w + b)

    jitted = jax.jit(layer)
    return lambda: layer(x, w, b), lambda: jitted(x, w, b)


def eager_modules() -> tuple[str, ...]:
    """Return the modules that relu(x @ w + b) compiles without `jit`, in order."""
    return tuple(_compiled(_layer()[0]))


def eager_runs_each_operation() -> Finding:
    """Without `jit` each operation runs as a kernel of its own."""
    eager, jitted = _layer()
    names, one = _compiled(eager), _compiled(jitted)
    return only(len(names) > len(one) == 1, f"modules `{'`, `'.join(names)}`; under `jit` only `{', '.join(one)}`")


def disabled_jit_is_eager() -> Finding:
    """With `jax_disable_jit` a jitted function runs operation by operation, as it does without `jit`."""
    eager, jitted = _layer()
    plain = _compiled(eager)
    with jax.disable_jit():
        disabled = _compiled(jitted)
    return only("layer" not in disabled, "no module of the whole function is compiled").but(
        disabled == plain,
        f"eagerly it compiles `{'`, `'.join(plain)}`; with it {count(len(disabled), 'smaller module')}",
    )


def _double() -> Callable[..., jax.Array]:
    """Return a function that was never compiled."""
    return jax.jit(lambda x, by=2.0: x * by)


def compiles_each_time() -> Finding:
    """Another shape compiles anew, and so does each call."""
    double, (first, second) = _double(), _vectors(2)
    numbers = [len(_compiled(lambda x=x: double(x))) for x in (first, second, first, second)]  # type: ignore[misc]  # the usual idiom
    found = f"four calls with two shapes compile {', '.join(map(str, numbers))}"
    return only(numbers[:2] == [1, 1], found).but(numbers[2:] != [0, 0], "a shape that was seen is not compiled again")


def compiled_once_per_shape() -> Finding:
    """A compiled function is used again for the same shape, and another shape needs one compile."""
    double, (first, second) = _double(), _vectors(2)
    numbers = [len(_compiled(lambda x=x: double(x))) for x in (first, first, first, second, first)]  # type: ignore[misc]  # the usual idiom
    return only(numbers == [1, 0, 0, 1, 0], f"compiles by call: {', '.join(map(str, numbers))}")


def padding_avoids_compiles() -> Finding:
    """Padded to one size, arrays of several sizes compile once."""
    double = _double()
    sizes = (3, 5, 7)
    arrays = [np.ones(size, np.float32) for size in sizes]
    plain = sum(len(_compiled(lambda x=x: double(x))) for x in arrays)  # type: ignore[misc]  # the usual idiom
    double = _double()
    padded = sum(len(_compiled(lambda x=x: double(np.pad(x, (0, 8 - x.size))))) for x in arrays)  # type: ignore[misc]  # likewise
    return only(padded == 1 < plain, f"{len(sizes)} sizes compile {plain} times, padded {padded} time")


def first_call_compiles() -> Finding:
    """The first call includes the compile, and later ones are faster."""
    (x,) = _vectors(1)
    f = jax.jit(lambda x: jnp.tanh(x) * jnp.sin(x))
    with watched() as first:
        slow = clocked(lambda: f(x))
    with watched() as later:
        fast = min(clocked(lambda: f(x)) for _ in range(5))
    good = len(first.compiled) == 1 and not later.compiled and 0 < first.compiling <= slow and fast < first.compiling
    return only(good, "compiles in the first call: 1, in the five after it: 0, each shorter than the compile alone")


def first_call_traces_and_compiles() -> Finding:
    """The first call traces, compiles and keeps the result."""
    double, (x,) = _double(), _vectors(1)
    with watched() as first:
        double(x)
    with watched() as second:
        double(x)
    numbers = [len(names) for names in (first.traced, first.compiled, second.traced, second.compiled)]
    found = f"first call: {numbers[0]} trace, {numbers[1]} compile; second: {numbers[2]} and {numbers[3]}"
    return only(numbers == [1, 1, 0, 0], found)


def static_argument_recompiles() -> Finding:
    """A static argument with another value compiles anew."""
    (x,) = _vectors(1)
    f = jax.jit(lambda x, n: x * n, static_argnums=(1,))
    numbers = [len(_compiled(lambda n=n: f(x, n))) for n in (2, 2, 3)]  # type: ignore[misc]  # the usual idiom
    return only(numbers == [1, 0, 1], f"compiles for the values 2, 2 and 3: {', '.join(map(str, numbers))}")


def key_is_shape_and_type() -> Finding:
    """The same shapes and element types find the executable, and nothing else matters."""
    double, (x,) = _double(), _vectors(1)
    same = [len(_compiled(lambda: double(x, np.float32(2)))) for _ in range(2)]
    weak = len(_compiled(lambda: double(x, 2.0)))
    again = only(same == [1, 0], "a second call with the same signature compiles nothing")
    return again.but(weak == 0, f"the number 2.0, of the same type but weakly so, compiles {weak} more")
