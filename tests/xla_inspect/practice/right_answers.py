"""Right answers other than the solutions, which the check must accept.

Each answer is listed under its exercise, with a short description if there are several.
"""

from __future__ import annotations

RIGHT = {
    "basics/mlp": """
mlp = jax.jit(lambda params, x: jax.nn.relu(jnp.dot(x, params.w1) + params.b1) @ params.w2 + params.b2)
""",
    "basics/gradient": """
def gradient(params, x, y):
    value, back = jax.vjp(lambda params: loss(params, x, y), params)
    return back(jnp.ones_like(value))[0]
""",
    "basics/pairwise": """
def pairwise(xs, ys):
    return jnp.linalg.norm(xs[:, None] - ys[None], axis=-1)
""",
    "basics/compile_once": """
import jax.numpy as jnp

def update(weights, gradient, rate):
    return weights - rate * gradient

@jax.jit
def take_all(weights, gradients, rates):
    return jax.lax.scan(lambda weights, each: (update(weights, *each), None), weights, (gradients, rates))[0]

def train(weights, gradients, rates):
    return take_all(weights, jnp.stack(gradients), jnp.asarray(rates, jnp.float32))
""",
    "jaxpr/from_jaxpr": """
@jax.jit
def original(a, b):
    d = jnp.tanh(jnp.dot(a, b))
    return d / jnp.sqrt(jnp.sum(d * d, axis=1, keepdims=True))
""",
    "hlo/one_fusion": """
def alternate(x, w):
    pairs = x.reshape(-1, 2)
    return jnp.stack([pairs[:, 0] * w, jnp.tanh(pairs[:, 1])], axis=1).reshape(-1)
""",
    "hlo/constants": """
def lookup(table, ids):
    return jnp.take(table, ids, axis=0) * 8.0
""",
    "hlo/donate": """
def _update(params, momentum, gradient):
    momentum = 0.9 * momentum + gradient
    return params - 0.1 * momentum, momentum

update = jax.jit(_update, donate_argnums=(0, 1))
""",
    "optimization/vanish": """
def nothing(x):
    halves = jnp.concatenate([x[:32], x[32:]]) * 1.0
    return jnp.maximum(halves, halves)[::-1][::-1]
""",
    "transforms/hessian_vector": """
def multiply_by_hessian(x, v):
    return jax.grad(lambda x: jnp.vdot(jax.grad(energy)(x), v))(x)
""",
    "capstone/model": """
from functools import partial
import jax.numpy as jnp

ROOM = slow.LENGTH + slow.LONGEST  # so that the last window, too, begins where it should

def layer(tokens, weights):
    shares = jax.nn.softmax(tokens @ weights["topics"])
    return tokens + shares @ weights["values"], None

@partial(jax.jit, donate_argnums=0)
def step(memory, layers, piece, *, position, rows):
    tokens, _ = jax.lax.scan(layer, piece, layers)
    there = jax.lax.dynamic_slice(memory, (position, 0), tokens.shape)
    tokens = jnp.where(jnp.arange(len(tokens))[:, None] < rows, tokens, there)
    return jax.lax.dynamic_update_slice(memory, tokens, (position, 0)), position + rows

def read(layers, pieces):
    stacked = {name: jnp.stack([each[name] for each in layers]) for name in layers[0]}
    memory, position = jnp.zeros((ROOM, slow.WIDTH)), np.int32(0)
    for piece in pieces:
        filled = np.zeros((slow.LONGEST, slow.WIDTH), np.float32)
        filled[: len(piece)] = piece
        memory, position = step(memory, stacked, filled, position=position, rows=len(piece))
    return memory[: slow.LENGTH]
""",
    "basics/mlp: the placeholder is left below": """
@jax.jit
def mlp(params, x):
    hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
    return hidden @ params.w2 + params.b2
    raise NotImplementedError  # TODO(human): two matmuls
""",
    "basics/mlp: the placeholder is left above": """
def mlp(params, x):
    raise NotImplementedError

@jax.jit
def mlp(params, x):
    return jnp.maximum(x @ params.w1 + params.b1, 0.0) @ params.w2 + params.b2
""",
    "basics/compile_once: logging is off": """
import logging

logging.disable(logging.CRITICAL)

@jax.jit
def update(weights, gradient, rate):
    return weights - rate * gradient

def train(weights, gradients, rates):
    for gradient, rate in zip(gradients, rates):
        weights = update(weights, gradient, float(rate))
    return weights
""",
    "basics/mlp: warnings are errors": """
import warnings

warnings.simplefilter("error")
mlp = jax.jit(lambda params, x: jax.nn.relu(jnp.dot(x, params.w1) + params.b1) @ params.w2 + params.b2)
""",
    "hlo/donate: other names": """
from functools import partial

@partial(jax.jit, donate_argnums=(0, 1))
def update(p, m, g):
    m = 0.9 * m + g
    return p - 0.1 * m, m
""",
    "hlo/read_dump: a list for the layout": """
FUSIONS = 6
LAYOUT = [0, 1]
RELAYOUT = "%wrapped_copy"
HALVES = 2
""",
    "hlo/read_dump: answered, then changed": """
def program(x, w, scale):
    return (x @ w).T, jnp.sum(scale)

FUSIONS: int | None = None
LAYOUT: tuple[int, ...] | None = None
FUSIONS, LAYOUT, RELAYOUT, HALVES = 6, (0, 1), "wrapped_copy", 2
""",
}
