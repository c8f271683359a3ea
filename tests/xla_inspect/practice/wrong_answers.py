"""Wrong answers for the first three phases, most with right numbers, and the expected remarks."""

from __future__ import annotations

from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong answer.

    Attributes:
        key: The key of the exercise.
        what: A description of the mistake.
        answer: The code in place of the functions or answers that a reader writes.
        said: A text that a remark of the check must contain.
        shown: A text that a shown line of the dump must contain, or empty if any lines will do.
    """

    key: str
    what: str
    answer: str
    said: str
    shown: str


WRONG = (
    Wrong(
        "basics/mlp",
        "not jitted",
        """
def mlp(params, x):
    return jnp.maximum(x @ params.w1 + params.b1, 0.0) @ params.w2 + params.b2
""",
        "so each operation runs alone",
        "compiled matmul for (float32[32,64], float32[64,128])",
    ),
    Wrong(
        "basics/mlp",
        "loop over the examples",
        """
@jax.jit
def mlp(params, x):
    rows = [jnp.maximum(row @ params.w1 + params.b1, 0.0) @ params.w2 + params.b2 for row in x]
    return jnp.stack(rows)
""",
        "contains 64 matmuls, but two layers need two",
        " dot(",
    ),
    Wrong(
        "basics/gradient",
        "forward mode",
        """
def gradient(params, x, y):
    return jax.jacfwd(loss)(params, x, y)
""",
        "times the operations of the loss, but a reverse-mode gradient needs only about three times",
        "f32[8,1140]",
    ),
    Wrong(
        "basics/pairwise",
        "a Python loop",
        """
def pairwise(xs, ys):
    return jnp.stack([jnp.stack([distance(x, y) for y in ys]) for x in xs])
""",
        "a Python loop is unrolled",
        "unstack(f32[8,3])",
    ),
    Wrong(
        "basics/pairwise",
        "a loop in the program",
        """
def pairwise(xs, ys):
    return jax.lax.map(lambda x: jax.vmap(lambda y: distance(x, y))(ys), xs)
""",
        "the program contains a loop",
        "scan(",
    ),
    Wrong(
        "basics/compile_once",
        "a static rate",
        """
from functools import partial

@partial(jax.jit, static_argnames="rate")
def update(weights, gradient, rate):
    return weights - rate * gradient

def train(weights, gradients, rates):
    for gradient, rate in zip(gradients, rates):
        weights = update(weights, gradient, rate)
    return weights
""",
        "four steps compile 4 programs, but one is enough: equal lines differ in a static argument",
        "compiled update for (float32[256], float32[256])",
    ),
    Wrong(
        "basics/compile_once",
        "rates of two types in a function of another name",
        """
@jax.jit
def move(weights, gradient, rate):
    return weights - rate * gradient

def update(weights, gradient, rate):
    return move(weights, gradient, rate)

def train(weights, gradients, rates):
    for gradient, rate in zip(gradients, rates):
        weights = update(weights, gradient, rate)
    return weights
""",
        "four steps compile 2 programs, but one is enough: a rate of type int needs another program",
        "compiled move for (float32[256], float32[256], int32[])",
    ),
    Wrong(
        "basics/compile_once",
        "not jitted",
        """
def update(weights, gradient, rate):
    return weights - float(rate) * gradient

def train(weights, gradients, rates):
    for gradient, rate in zip(gradients, rates):
        weights = update(weights, gradient, rate)
    return weights
""",
        "no program has the weights, the gradient and the rate as arguments",
        "compiled multiply for",
    ),
    Wrong(
        "basics/pairwise",
        "NumPy takes it, out of the compiler's sight",
        """
def pairwise(xs, ys):
    import numpy as np
    shape = jax.ShapeDtypeStruct((len(xs), len(ys)), jnp.float32)
    return jax.pure_callback(lambda a, b: np.linalg.norm(a[:, None] - b[None], axis=-1), shape, xs, ys)
""",
        "a callback does the work in Python, where the compiler cannot see it",
        "pure_callback(",
    ),
    Wrong(
        "jaxpr/primitives",
        "the outer equations only",
        """
def count(jaxpr):
    names = [equation.primitive.name for equation in jaxpr.eqns]
    return {name: names.count(name) for name in names}
""",
        "`max` 0 times instead of 2; these equations are in inner jaxprs",
        "= max(",
    ),
    Wrong(
        "jaxpr/primitives",
        "primitives for their names",
        """
def count(jaxpr):
    primitives = [equation.primitive for equation in jaxpr.eqns]
    return {each: primitives.count(each) for each in primitives}
""",
        "a key of the dict is of type Primitive, but each key must be a name",
        "",
    ),
    Wrong(
        "jaxpr/follow",
        "what takes the argument itself only",
        """
def follow(jaxpr, argument):
    return [each.primitive.name for each in jaxpr.eqns if jaxpr.invars[argument] in each.invars]
""",
        "after 1 right name, it returns nothing more, but `add` depends on it",
        "= add(",
    ),
    Wrong(
        "jaxpr/from_jaxpr",
        "the same numbers by a function of the library",
        """
def original(a, b):
    d = jnp.tanh(a @ b)
    return d / jnp.linalg.norm(d, axis=1, keepdims=True)
""",
        "although the numbers are the same. The original's comes first, then yours:",
        "= jit d",
    ),
    Wrong(
        "hlo/read_dump",
        "guessed",
        """
FUSIONS = 5
LAYOUT = (1, 0)
RELAYOUT = "multiply_transpose_fusion"
HALVES = 1
""",
        "not 5. Each line of `ENTRY` with `fusion(` counts",
        "ynn_fusion",
    ),
    Wrong(
        "hlo/read_dump",
        "a word for a number, and then a wrong number",
        """
FUSIONS = "six"
LAYOUT = (0, 1)
RELAYOUT = "wrapped_copy"
HALVES = 1
""",
        "not 1. These are all lines of the dump with `constant(0.5)`",
        "%fused_computation.3:",
    ),
    Wrong(
        "hlo/one_fusion",
        "updates in place",
        """
def alternate(x, w):
    return x.at[::2].multiply(w).at[1::2].set(jnp.tanh(x[1::2]))
""",
        "the program launches 6 kernels instead of one fusion. The reason: a `scatter`",
        "wrapped_scatter",
    ),
    Wrong(
        "hlo/constants",
        "the table of the file",
        """
def lookup(table, ids):
    return jnp.asarray(TABLE)[ids] * 8.0
""",
        "contains 131,072 bytes of constants",
        "f32[512,64]{1,0} constant({...})",
    ),
    Wrong(
        "hlo/donate",
        "nothing is donated",
        """
@jax.jit
def update(params, momentum, gradient):
    momentum = 0.9 * momentum + gradient
    return params - 0.1 * momentum, momentum
""",
        "result 0, the new params, has a new buffer",
        "entry_computation_layout=",
    ),
    Wrong(
        "hlo/donate",
        "the gradient is donated",
        """
from functools import partial

@partial(jax.jit, donate_argnames=("params", "gradient"))
def update(params, momentum, gradient):
    momentum = 0.9 * momentum + gradient
    return params - 0.1 * momentum, momentum
""",
        "result 1, the new momentum, uses the buffer of `gradient`",
        "input_output_alias={ {0}: (0, {}, may-alias), {1}: (2, {}, may-alias) }",
    ),
    Wrong(
        "hlo/donate",
        "all three are given away, and the gradient finds no taker",
        """
from functools import partial

@partial(jax.jit, donate_argnums=(0, 1, 2))
def update(params, momentum, gradient):
    momentum = 0.9 * momentum + gradient
    return params - 0.1 * momentum, momentum
""",
        "the gradient is donated too",
        "input_output_alias=",
    ),
    Wrong(
        "hlo/one_fusion",
        "the numbers of one input, for any",
        """
import numpy as np

def alternate(x, w):
    given = np.random.default_rng(0).normal(size=4096).astype(np.float32)
    return jnp.where(jnp.arange(4096) % 2 == 0, given * 1.5, jnp.tanh(given)) + 0.0 * x * w
""",
        "the numbers are wrong in",
        "",
    ),
)
