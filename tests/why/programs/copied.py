"""Programs of public issues in which the compiler copies, each rewritten from its issue."""

import jax
import jax.numpy as jnp


def pop_each(queue: jax.Array, positions: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a queue after its values at the positions were removed one by one, and those values."""

    def pop(queue: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
        value = queue[at]
        tail = jax.lax.dynamic_slice(queue, (at + 1,), (64,))
        return jax.lax.dynamic_update_slice(queue, tail, (at,)), value

    return jax.lax.scan(pop, queue, positions)


def fill_at_random(values: jax.Array) -> jax.Array:
    """Return a vector filled one by one with one of its first two values, chosen at random."""

    def more(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
        return carry[0] < values.size

    def fill(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        step, values = carry
        chosen = jax.random.randint(jax.random.key(step), (), 0, 2)
        return step + 1, values.at[step].set(values[chosen])

    return jax.lax.while_loop(more, fill, (jnp.int32(0), values))[1]


def update_and_compare(weights: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return weights with a new first row, and the distance of the other rows from the old first row."""
    updated = weights.at[0].set(row)
    return updated, jnp.sum((weights - weights[0]) ** 2)


def shift_down(x: jax.Array) -> jax.Array:
    """Return a matrix whose rows are moved down by one, with the first row unchanged."""
    return x.at[1:].set(x[:-1])


def write_each(cache: jax.Array, entries: jax.Array, positions: jax.Array) -> jax.Array:
    """Return a batch of caches, each with an entry at its own position."""

    def write(one: jax.Array, entry: jax.Array, position: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice(one, entry, (position,))

    return jax.vmap(write)(cache, entries, positions)
