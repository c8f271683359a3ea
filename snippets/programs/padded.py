"""The mean of a sequence of any length, compiled for each length, for one, or for a few."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

COMPILED = "/jax/core/compile/backend_compile_duration"
LENGTHS = (3, 5, 6, 7, 9, 12, 13, 16)


def mean(x: jax.Array) -> jax.Array:
    """Return the mean of x: one executable for each length."""
    return jnp.mean(x)


def masked_mean(x: jax.Array, length: jax.Array) -> jax.Array:
    """Return the mean of the first elements of x, whatever the others hold: one executable for all lengths."""
    inside = jnp.arange(x.shape[0]) < length
    return jnp.sum(jnp.where(inside, x, 0)) / length


def pad(x: np.ndarray, length: int) -> np.ndarray:
    """Return x with as many NaNs after it as make it `length` long, to show that none of them counts."""
    return np.pad(x, (0, length - len(x)), constant_values=np.nan)


def bucket(length: int) -> int:
    """Return the smallest power of two that is at least `length`."""
    return 1 << (length - 1).bit_length()


def make_padded(size: Callable[[int], int]) -> Callable[[np.ndarray], jax.Array]:
    """Return a function for the mean of an array, which it pads to length size(len(x)), with its own executables."""
    # A new function, since one that is jitted twice shares what was compiled for it.
    compiled = jax.jit(lambda x, length: masked_mean(x, length))  # noqa: PLW0108 - a new one
    return lambda x: compiled(pad(x, size(len(x))), len(x))


def padded() -> list[tuple[str, int, int, int, float]]:
    """Return for each of three ways: name, executables, elements computed, elements asked for, and largest error."""
    sequences = [np.random.default_rng(length).normal(size=length).astype(np.float32) for length in LENGTHS]
    ways: dict[str, tuple[Callable[[np.ndarray], jax.Array], Callable[[int], int]]] = {
        "one for each length": (jax.jit(mean), lambda length: length),
        "padded to the longest": (make_padded(lambda _: max(LENGTHS)), lambda _: max(LENGTHS)),
        "padded to powers of two": (make_padded(bucket), bucket),
    }
    compiles: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        del duration_secs
        compiles.extend([event] * (event == COMPILED))

    rows = []
    asked = sum(map(len, sequences))
    jax.monitoring.register_event_duration_secs_listener(listen)
    for name, (call, size) in ways.items():
        compiles.clear()
        error = max(abs(float(call(x)) - float(x.mean())) for x in sequences)
        rows.append((name, len(compiles), sum(size(len(x)) for x in sequences), asked, error))
    jax.monitoring.unregister_event_duration_listener(listen)
    return rows


if __name__ == "__main__":
    for row in padded():
        print(*row)
