"""Three plausible wrong solutions of each puzzle: for some input, their numbers differ from those of `start`."""

from __future__ import annotations

WRONG_PUZZLES = {
    "softmax": {
        "no maximum is subtracted": """
def better(x):
    e = jnp.exp(x)
    p = e / jnp.sum(e, axis=-1, keepdims=True)
    return p, -jnp.sum(jax.scipy.special.xlogy(p, p), axis=-1)
""",
        "the maximum is that of all rows": """
def better(x):
    e = jnp.exp(x - jnp.max(x))
    p = e / jnp.sum(e, axis=-1, keepdims=True)
    return p, -jnp.sum(jax.scipy.special.xlogy(p, p), axis=-1)
""",
        "the logarithm of zero": """
def better(x):
    p = jax.nn.softmax(x, axis=-1)
    return p, -jnp.sum(p * jnp.log(p), axis=-1)
""",
    },
    "history": {
        "the first row is the first state": """
def better(x):
    def step(state, row):
        return jnp.tanh(row + 0.5 * state), state

    return jax.lax.scan(step, x[0], jnp.roll(x, -1, axis=0))[1]
""",
        "only the last eight rows count": """
def better(x):
    def step(recent, row):
        recent = jnp.concatenate([recent[1:], row[None]])
        state = jnp.zeros_like(row)
        for earlier in recent:
            state = jnp.tanh(earlier + 0.5 * state)
        return recent, state

    return jax.lax.scan(step, jnp.zeros_like(x[:8]), x)[1]
""",
        "states in half precision": """
def better(x):
    def step(state, row):
        state = jnp.tanh(row + 0.5 * state)
        return state, state.astype(jnp.float16)

    return jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1].astype(jnp.float32)
""",
    },
    "layer_norm": {
        "the mean of the squares minus the square of the mean": """
def better(x, scale, shift):
    zero = jnp.float32(0)
    total, squares = jax.lax.reduce((x, x * x), (zero, zero), lambda a, b: (a[0] + b[0], a[1] + b[1]), (1,))
    mean = (total / x.shape[1])[:, None]
    variance = (squares / x.shape[1])[:, None] - mean**2
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift
""",
        "epsilon outside the root": """
def better(x, scale, shift):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) / (jnp.std(x, axis=-1, keepdims=True) + 1e-5) * scale + shift
""",
        "the variance of a sample": """
def better(x, scale, shift):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True, ddof=1) + 1e-5) * scale + shift
""",
    },
    "narrow": {
        "float16 instead of bfloat16": """
def better(x, w, v):
    x, w, v = (array.astype(jnp.float16) for array in (x, w, v))
    return jnp.dot(jax.nn.gelu(x @ w), v, preferred_element_type=jnp.float32)
""",
        "a relu instead of the gelu": """
def better(x, w, v):
    x, w, v = (array.astype(jnp.bfloat16) for array in (x, w, v))
    return jnp.dot(jax.nn.relu(x @ w), v, preferred_element_type=jnp.float32)
""",
        "integers of a fixed range": """
def better(x, w, v):
    x, w, v = (jnp.clip(jnp.round(array * 64), -640, 640).astype(jnp.bfloat16) / 64 for array in (x, w, v))
    return jnp.dot(jax.nn.gelu(x @ w), v, preferred_element_type=jnp.float32)
""",
    },
    "cache": {
        "the row is added": """
from functools import partial

@partial(jax.jit, donate_argnames="cache")
def better(cache, row, position):
    return cache.at[position].add(row)
""",
        "position zero means an empty cache": """
from functools import partial

@partial(jax.jit, donate_argnames="cache")
def better(cache, row, position):
    return jax.lax.dynamic_update_slice(cache, row[None], (jnp.maximum(position, 1), 0))
""",
        "the row and the next one are written": """
from functools import partial

@partial(jax.jit, donate_argnames="cache")
def better(cache, row, position):
    following = jax.lax.dynamic_slice(cache, (position + 1, 0), (1, 128))
    return jax.lax.dynamic_update_slice(cache, jnp.concatenate([row[None], following]), (position, 0))
""",
    },
    "attention": {
        "no maximum is subtracted": """
def better(q, k, v):
    def attend(rows):
        e = jnp.exp(rows @ k.T / 8.0)
        return e @ v / jnp.sum(e, axis=-1, keepdims=True)

    return jax.lax.map(attend, q.reshape(-1, 32, 64)).reshape(q.shape)
""",
        "a running maximum that starts at zero": """
def better(q, k, v):
    def step(carry, block):
        largest, total, result = carry
        keys, values = block
        scores = q @ keys.T / 8.0
        larger = jnp.maximum(largest, scores.max(-1, keepdims=True))
        e, factor = jnp.exp(scores - larger), jnp.exp(largest - larger)
        return (larger, total * factor + e.sum(-1, keepdims=True), result * factor + e @ values), None

    blocks = (k.reshape(-1, 32, 64), v.reshape(-1, 32, 64))
    zeros = jnp.zeros((len(q), 1))
    _, total, result = jax.lax.scan(step, (zeros, zeros, jnp.zeros_like(q)), blocks)[0]
    return result / total
""",
        "scores in half precision": """
def better(q, k, v):
    def attend(rows):
        return jax.nn.softmax((rows @ k.T / 8.0).astype(jnp.float16), axis=-1).astype(jnp.float32) @ v

    return jax.lax.map(attend, q.reshape(-1, 64, 64)).reshape(q.shape)
""",
    },
    "remat": {
        "each block has a loss of its own": """
def better(weights, x):
    def cost(weights):
        rows = x
        for at, w in enumerate(weights):
            rows = layer(jax.lax.stop_gradient(rows) if at % 4 == 0 else rows, w)
        return jnp.sum(rows * rows)

    return list(jax.grad(cost)(weights))
""",
        "half of the rows, doubled": """
def better(weights, x):
    return [2 * gradient for gradient in jax.grad(loss)(weights, x[::2])]
""",
        "layers' outputs in half precision": """
def better(weights, x):
    def cost(weights):
        rows = x.astype(jnp.float16)
        for w in weights:
            rows = jnp.tanh(rows @ w.astype(jnp.float16))
        return jnp.sum(rows.astype(jnp.float32) ** 2)

    return [gradient.astype(jnp.float32) for gradient in jax.grad(cost)(weights)]
""",
    },
    "embedding": {
        "row zero is padding": """
def better(table, ids):
    return jnp.where((ids > 0)[:, None], jnp.take(table, ids, axis=0, mode="clip"), 0.0)
""",
        "the ids are in order": """
def better(table, ids):
    return jax.lax.dynamic_slice(table, (ids[0], 0), (len(ids), table.shape[1]))
""",
        "small numbers are dropped": """
def better(table, ids):
    rows = jnp.take(table, ids, axis=0, mode="clip")
    return jnp.where(jnp.abs(rows) < 1e-4, 0.0, rows)
""",
    },
    "hoist": {
        "only the last four rows count": """
def better(xs, w, v):
    rows = xs[-4:] @ w @ v
    return jax.lax.scan(lambda state, row: (jnp.tanh(state + row), None), jnp.zeros(256), rows)[0]
""",
        "the first row is the first state": """
def better(xs, w, v):
    rows = xs @ w @ v
    return jax.lax.scan(lambda state, row: (jnp.tanh(state + row), None), rows[0], rows[1:])[0]
""",
        "a sum instead of a recurrence": """
def better(xs, w, v):
    return jnp.tanh(jnp.sum(xs, axis=0) @ w @ v)
""",
    },
    "sharded": {
        "the exchange is in bfloat16": """
SPECS = (P(), P(None, "model"), P("model", None))

def better(x, w, v):
    halves = (jax.nn.gelu(x @ w) @ v).astype(jnp.bfloat16)
    return jax.lax.with_sharding_constraint(halves, P(None, "model")).astype(jnp.float32)
""",
        "the exchange is in float16": """
SPECS = (P(), P(None, "model"), P("model", None))

def better(x, w, v):
    halves = (jax.nn.gelu(x @ w) @ v).astype(jnp.float16)
    return jax.lax.with_sharding_constraint(halves, P(None, "model")).astype(jnp.float32)
""",
        "the gelu of each device's partial sum": """
SPECS = (P(None, "model"), P("model", None), P())

def better(x, w, v):
    parts = jnp.einsum("imk,mkn->imn", x.reshape(32, 8, 128), w.reshape(8, 128, 4096))
    return jnp.sum(jax.nn.gelu(parts), axis=1) @ v
""",
    },
}
"""The wrong solutions by puzzle and by mistake."""
