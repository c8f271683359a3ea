"""Wrong answers with right numbers for the last phases and the capstone."""

from __future__ import annotations

from wrong_answers import Wrong

WRONG = (
    Wrong(
        "optimization/categories",
        "ENTRY only",
        """
def count(module):
    found = {}
    for instruction in module.entry:
        category = categorise(instruction.opcode)
        found[category] = found.get(category, 0) + 1
    return found
""",
        "do not stand in `ENTRY`",
        "%region",
    ),
    Wrong(
        "optimization/find_pass",
        "the first module without",
        """
def find_pass(found, opcode):
    return next((each.name for each in found.passes if not each.module.opcode_counts()[opcode]), None)
""",
        "for `broadcast`, it returns 'topk-decomposer' instead of 'algsimp'",
        "  3 after pass 2 comparison-expander",
    ),
    Wrong(
        "optimization/find_pass",
        "the first time that it is removed",
        """
def find_pass(found, opcode):
    before = found.unoptimized_module.opcode_counts()[opcode]
    for each in found.passes:
        now = each.module.opcode_counts()[opcode]
        if before and not now:
            return each.name
        before = now
""",
        "for `call`, it returns 'call-inliner' instead of None",
        "small-while-loop-hoisting",
    ),
    Wrong(
        "optimization/vanish",
        "rounding",
        """
def nothing(x):
    y = -x.T.reshape(-1) + 1.0 - 1.0
    return -y.reshape(128, 64).T
""",
        "the compiler could not prove that this is nothing",
        " add(",
    ),
    Wrong(
        "optimization/vanish",
        "nothing done at all",
        """
def nothing(x):
    return x
""",
        "depends on 0 equations, and at least 6",
        "",
    ),
    Wrong(
        "optimization/predict_kernels",
        "a kernel for each operation",
        """
JOINED = 5
NETWORK = 3
ORDERED = 3
""",
        "not 5. `joined` launches these.",
        "broadcast_add_fusion",
    ),
    Wrong(
        "optimization/predict_kernels",
        "of a program that was changed",
        """
def network(x, w, v):
    return jnp.tanh(jnp.tanh(x @ w) @ v)

JOINED = 1
NETWORK = 4
ORDERED = 3
""",
        "not 4. `network` launches these. You changed `network`, but the question is about the original function.",
        "fusion(",
    ),
    Wrong(
        "transforms/count_products",
        "twice those of the loss",
        """
LOSS = 2
GRADIENT = 4
WITH_INPUT = 6
PER_EXAMPLE = 5
""",
        "not 4. The jaxpr of `jax.grad(loss)` contains these matmuls.",
        "dot_general(f32[8,10], f32[10,4])",
    ),
    Wrong(
        "transforms/per_example",
        "a loop in the program",
        """
def norms(params, xs, ys):
    def norm(pair):
        return jnp.sqrt(sum(jnp.sum(g**2) for g in jax.grad(loss)(params, *pair)))

    return jax.lax.map(norm, (xs, ys))
""",
        "the program contains a loop, which processes one example at a time",
        "scan(",
    ),
    Wrong(
        "transforms/hessian_vector",
        "the whole matrix",
        """
def multiply_by_hessian(x, v):
    return jax.hessian(energy)(x) @ v
""",
        "values of the jaxpr have as many numbers as the matrix, 4,096",
        "f32[64,64]",
    ),
    Wrong(
        "transforms/hessian_vector",
        "a derivative for each column, written out",
        """
def multiply_by_hessian(x, v):
    one = [jnp.zeros_like(x).at[at].set(1.0) for at in range(len(x))]
    columns = [jax.jvp(jax.grad(energy), (x,), (each,))[1] for each in one]
    return sum(column * each for column, each in zip(columns, v))
""",
        "for 32 numbers and 3649 for 64 numbers: a Python loop is unrolled",
        "f32[64]",
    ),
    Wrong(
        "transforms/hessian_vector",
        "a derivative for each column, one after the other",
        """
def multiply_by_hessian(x, v):
    def column(at):
        return jax.jvp(jax.grad(energy), (x,), (jnp.zeros_like(x).at[at].set(1.0),))[1] @ v

    return jax.lax.map(column, jnp.arange(len(x)))
""",
        "the program contains a loop, which processes one column at a time",
        "scan(",
    ),
    Wrong(
        "transforms/hessian_vector",
        "the matrix in halves",
        """
def multiply_by_hessian(x, v):
    def part(at):
        column = lambda at: jax.jvp(jax.grad(energy), (x,), (jnp.zeros_like(x).at[at].set(1.0),))[1] @ v
        return jax.vmap(column)(at)

    return jnp.concatenate([part(at) for at in jnp.arange(len(x)).reshape(2, -1)])
""",
        "times the operations of the gradient, but a directional derivative of it needs only about three times",
        "f32[32,64]",
    ),
    Wrong(
        "capstone/model",
        "the last window is moved back into the memory",
        """
from functools import partial
import jax.numpy as jnp

def layer(tokens, weights):
    shares = jax.nn.softmax(tokens @ weights["topics"])
    return tokens + shares @ weights["values"], None

@partial(jax.jit, donate_argnums=0)
def step(memory, layers, piece, position, rows):
    tokens, _ = jax.lax.scan(layer, piece, layers)
    there = jax.lax.dynamic_slice(memory, (position, 0), tokens.shape)
    tokens = jnp.where(jnp.arange(len(tokens))[:, None] < rows, tokens, there)
    return jax.lax.dynamic_update_slice(memory, tokens, (position, 0))

def read(layers, pieces):
    stacked = {name: jnp.stack([each[name] for each in layers]) for name in layers[0]}
    memory, position = jnp.zeros((slow.LENGTH, slow.WIDTH)), 0
    for piece in pieces:
        filled = np.zeros((slow.LONGEST, slow.WIDTH), np.float32)
        filled[: len(piece)] = piece
        memory = step(memory, stacked, filled, position, len(piece))
        position += len(piece)
    return memory
""",
        "after a text that fills it (a window that extends beyond the end is moved back): the numbers are wrong",
        "",
    ),
)
