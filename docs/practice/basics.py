# %% [markdown]
# ---
# description: Fifteen minutes of JAX with the compiler in mind, what jit, grad and vmap do, and a model as a pure function.
# minutes: 15
# ---
# # Basics
#
# Write a program that a compiler can take whole: that is all JAX asks of you, and every later phase depends on it.
# Each cell below is followed by what it printed when this page was built.
# Where it says **Predict**, decide before you open the answer.

# %%
from xla_inspect.practice import init, loss

import jax
import jax.numpy as jnp

# %% [markdown]
# ## Arrays do not change { #arrays }
#
# `jax.numpy` has most of NumPy's names and rules.
# What you miss first: you cannot write into an array.

# %%
x = jnp.arange(6.0).reshape(2, 3)
y = x.at[0, 0].set(7.0)
x, y

# %% [markdown]
# `x.at[...].set(...)` returns a new array and leaves `x` alone.
# A function of arrays that changes nothing outside can be written down once and replayed, and that is what `jit` does.

# %% check="Most names are NumPy's; writing into an array is refused, and a changed copy leaves it alone."
import numpy as np

shared = [name for name in np.__all__ if hasattr(jnp, name)]
assert 4 * len(shared) > 3 * len(np.__all__)
try:
    x[0, 0] = 7.0
except TypeError as refusal:
    said = str(refusal)
assert "immutable" in said
assert (x[0, 0], y[0, 0]) == (0.0, 7.0)

# %% [markdown]
# ## jit runs your Python once { #jit }
#
# **Predict.** `f` prints when Python executes it.
# It is called three times below; how often does it print, and what is `x` when it does?


# %% open="What the three calls print"
@jax.jit
def f(x):
    print("Python runs f, and x is", x)
    return 2.0 * x + 1.0


for argument in (jnp.ones(3), jnp.zeros(3), jnp.ones(4)):
    print("result:", f(argument))

# %% [markdown]
# `x` is a *tracer*: a shape and an element type without numbers.
# JAX called `f` with it, wrote down the operations, and compiled them.
# The second call has the same shape, so it ran the compiled program and none of your Python.
# The third has another shape, which is another program.

# %% check="Python ran for the first and the third call alone."
calls = []


@jax.jit
def traced(x):
    calls.append(x.shape)
    assert isinstance(x, jax.core.Tracer)
    assert x.dtype == jnp.float32
    return x


for argument in (jnp.ones(3), jnp.zeros(3), jnp.ones(4)):
    traced(argument)
assert calls == [(3,), (4,)]

# %% [markdown]
# ## grad returns a function { #grad }
#
# **Predict.** The derivative of `3x² + 2x` is `6x + 2`.
# What do the two lines print at `x = 2`?


# %% open="The first and the second derivative"
def parabola(x):
    return 3.0 * x**2 + 2.0 * x


print(jax.grad(parabola)(2.0))
print(jax.grad(jax.grad(parabola))(2.0))

# %% [markdown]
# Nothing was recorded in `x`, and there is no `backward()`.
# `jax.grad(parabola)` is a function of its own, which you can differentiate again, compile or map.

# %% check="The derivative is a function: it is differentiated, compiled and mapped."
derivative = jax.grad(parabola)
assert derivative(2.0) == jax.jit(derivative)(2.0) == 14.0
assert jax.grad(derivative)(2.0) == 6.0
assert jax.vmap(derivative)(jnp.array([0.0, 2.0])).tolist() == [2.0, 14.0]

# %% [markdown]
# ## vmap adds a dimension { #vmap }
#
# `dot` is written for two vectors.
#
# **Predict.** `vmap` applies it to four rows.
# How often does `dot` print, and which shape does it see?


# %% open="What dot saw"
def dot(a, b):
    print("dot sees", a.shape, "and", b.shape)
    return jnp.sum(a * b)


rows = jnp.arange(12.0).reshape(4, 3)
jax.vmap(dot, in_axes=(0, None))(rows, jnp.ones(3))

# %% [markdown]
# Once, and one row: there is no loop anywhere.
# `vmap` ran your function with a tracer that hides the extra dimension, and gave each operation that dimension behind its back.

# %% check="dot is traced once, for one row; the operations have all four, and there is no loop."
seen = []


def watched(a, b):
    seen.append((a.shape, isinstance(a, jax.core.Tracer)))
    return jnp.sum(a * b)


mapped = jax.make_jaxpr(jax.vmap(watched, in_axes=(0, None)))(rows, jnp.ones(3))
assert seen == [((3,), True)]
operations = {equation.primitive.name: equation for equation in mapped.eqns}
assert operations["mul"].outvars[0].aval.shape == (4, 3)
assert operations["reduce_sum"].outvars[0].aval.shape == (4,)
assert operations.keys().isdisjoint({"scan", "while"})

# %% [markdown]
# ## JAX beside PyTorch { #pytorch }
#
# Three habits from PyTorch, and what becomes of each.

# %% pairs="all"
from xla_inspect.practice import pairs

pairs()

# %% [markdown]
# ## A model as a pure function { #model }
#
# No class and no state: parameters come in as an argument, and the result depends on nothing else.
# The phases that follow take this model through the compiler.
#
# ```python
# def mlp(params, x):
#     hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
#     return hidden @ params.w2 + params.b2
#
#
# def loss(params, x, y):
#     return jnp.mean((mlp(params, x) - y) ** 2)
# ```
#
# `params` is a named tuple of four arrays, a *pytree*: JAX flattens it into its arrays and builds it again wherever it stands.

# %%
params = init(seed=0)
x = jax.random.normal(jax.random.key(1), (32, 64))
y = jnp.zeros((32, 16))
jax.tree.map(jnp.shape, params)

# %% [markdown]
# **Predict.** `jax.grad(loss)` differentiates with respect to its first argument, `params`.
# What does it return: one number, one array, or something else?

# %% open="The shapes of the gradient"
slope = jax.jit(jax.grad(loss))
jax.tree.map(jnp.shape, slope(params, x, y))

# %% [markdown]
# The gradient has the form of the parameters, so a step of training is one line.


# %%
def step(params):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slope(params, x, y))


print(f"{loss(params, x, y):.2f} before the step, {loss(step(params), x, y):.2f} after it")

# %% check="Four parameters, a gradient of the same form, and a step that lowers the loss."
gradient = slope(params, x, y)
assert len(jax.tree.leaves(params)) == 4
assert isinstance(gradient, type(params))
assert jax.tree.map(jnp.shape, gradient) == jax.tree.map(jnp.shape, params)
assert loss(step(params), x, y) < loss(params, x, y)

# %% [markdown]
# ## Your turn { #exercises }
#
# Four exercises.
# Each is a file with a marked place to write; the check compiles what you wrote and judges it by what the compiler says.

# %% exercise="basics/mlp"
from xla_inspect.practice import exercise

exercise("basics/mlp")

# %% exercise="basics/gradient"
exercise("basics/gradient")

# %% exercise="basics/pairwise"
exercise("basics/pairwise")

# %% exercise="basics/compile_once"
exercise("basics/compile_once")

# %% [markdown]
# ## References { #references }

# %% references="basics"
from xla_inspect.practice import references

references("basics")

# %% [markdown]
# ## Next { #next }
#
# You have a function that a compiler can take whole.
# [The next phase](jaxpr.py) reads what JAX wrote down when it traced it.
