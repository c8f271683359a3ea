"""Small programs with instructive memory plans: a chain, an update, loops that write in place, and a deep stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 6
SQUARE = jax.ShapeDtypeStruct((512, 512), jnp.float32)
VECTOR = jax.ShapeDtypeStruct((1024,), jnp.float32)
TABLE = jax.ShapeDtypeStruct((64, 1024), jnp.float32)
ROWS = jax.ShapeDtypeStruct((1024, 256), jnp.float32)
STACK = jax.ShapeDtypeStruct((16, 256, 256), jnp.float32)
LONG = jax.ShapeDtypeStruct((65536, 128), jnp.float32)


def four(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the largest and the smallest element of d, the last of four matmuls whose live ranges overlap."""
    a = x @ w
    b = w @ x
    c = a @ x
    d = b @ c
    return jnp.max(d), jnp.min(d)


def chain(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return tanh(... tanh(tanh(x @ w) @ w) ... @ w), with a matmul and a tanh in each step."""
    for _ in range(STEPS):
        x = jnp.tanh(x @ w)
    return x


def update(state: jax.Array, gradient: jax.Array) -> jax.Array:
    """Return state - 0.1 * gradient, the next state, as a training step updates its parameters."""
    return state - 0.1 * gradient


def total(state: jax.Array) -> jax.Array:
    """Return the sum, a single number, which cannot reuse the memory of the state."""
    return jnp.sum(state)


def rows_by_loop(table: jax.Array) -> jax.Array:
    """Return the table with each row except the first set to the sine of the row above it, by a loop."""

    def body(i: jax.Array, table: jax.Array) -> jax.Array:
        return table.at[i].set(jnp.sin(table[i - 1]))

    result: jax.Array = jax.lax.fori_loop(1, table.shape[0], body, table)
    return result


def rows_by_scan(row: jax.Array) -> jax.Array:
    """Return 64 rows that a scan stacks, each the sine of the row above it, f32[64,1024]."""

    def step(row: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        row = jnp.sin(row)
        return row, row

    return jax.lax.scan(step, row, None, length=64)[1]


def kept_and_changed(table: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the table with row 3 set to zero, and the original table."""
    return table.at[3].set(0.0), table


def deep(x: jax.Array, ws: jax.Array) -> jax.Array:
    """Return the gradient of a stack of layers with respect to its weights, f32[16,256,256]."""
    gradient: jax.Array = jax.grad(loss, argnums=1)(x, ws, residual)
    return gradient


def deep_checkpointed(x: jax.Array, ws: jax.Array) -> jax.Array:
    """Return the same gradient as `deep`, but compute the inside of each layer again in the backward pass."""
    gradient: jax.Array = jax.grad(loss, argnums=1)(x, ws, jax.checkpoint(residual))
    return gradient


def residual(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return x + tanh(sin(x @ w) * x), one layer with a residual connection, in the shape of x."""
    return x + jnp.tanh(jnp.sin(x @ w) * x)


def loss(x: jax.Array, ws: jax.Array, layer: Callable[[jax.Array, jax.Array], jax.Array]) -> jax.Array:
    """Return the sum of the output of a stack of layers, f32[]."""
    return jnp.sum(jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0])


def used_twice(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return f32[n]; the matmul a is needed at the start and at the end, with the matmul b in between."""
    a = x @ w
    column = jnp.sum(jnp.sin(a), axis=0)
    b = (x * 2) @ (w + column)
    return jnp.sum(a * jnp.sum(jnp.cos(b), axis=0), axis=1)


def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return attention with the whole matrix of scores at once, in the shape of q."""
    return jax.nn.softmax(q @ k.T) @ v


def attend_by_blocks(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Return the same result as `attend`, with the scores of 1,024 queries at a time."""
    blocks: jax.Array = jax.lax.map(lambda block: attend(block, k, v), q.reshape(-1, 1024, q.shape[1]))
    return blocks.reshape(q.shape)


def product_sizes(n: int) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """Return shapes with which each matmul of `used_twice` has the result f32[n,n]."""
    return jax.ShapeDtypeStruct((n, 128), jnp.float32), jax.ShapeDtypeStruct((128, n), jnp.float32)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "four": (four, (SQUARE, SQUARE)),
    "chain": (chain, (SQUARE, SQUARE)),
    "update": (update, (VECTOR, VECTOR)),
    "total": (total, (VECTOR,)),
    "rows_by_loop": (rows_by_loop, (TABLE,)),
    "rows_by_scan": (rows_by_scan, (VECTOR,)),
    "kept_and_changed": (kept_and_changed, (TABLE,)),
    "deep": (deep, (ROWS, STACK)),
    "deep_checkpointed": (deep_checkpointed, (ROWS, STACK)),
    "used_twice": (used_twice, product_sizes(65536)),
    "attend": (attend, (LONG, LONG, LONG)),
    "attend_by_blocks": (attend_by_blocks, (LONG, LONG, LONG)),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(name, jax.make_jaxpr(function)(*example))
