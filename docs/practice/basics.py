# %% [markdown]
# ---
# description: JAX from the compiler's point of view in fifteen minutes, with jit, grad, vmap and a model as a pure function.
# minutes: 15
# ---
# # Write for a compiler
#
# JAX asks for only one thing: a program that a compiler can compile as a whole.
# Every later phase depends on it.
# Each cell below is followed by the output that it printed when this page was built.
# At the word **Predict**, decide on an answer before you open the fold.

# %%
from xla_inspect.practice import init, loss

import jax
import jax.numpy as jnp

# %% [markdown]
# ## Arrays do not change { #arrays }
#
# `jax.numpy` has most of NumPy's names and rules.
# The first difference that you notice is that you cannot write into an array.

# %%
x = jnp.arange(6.0).reshape(2, 3)
y = x.at[0, 0].set(7.0)
x, y

# %% [markdown]
# `x.at[...].set(...)` returns a new array and does not change `x`.
# A function of arrays that changes nothing outside can be recorded once and replayed, which is exactly what `jit` does.

# %% check="Most names are the same as in NumPy, writing into an array fails, and a changed copy leaves the array unchanged."
import numpy as np

shared = [name for name in np.__all__ if hasattr(jnp, name)]
assert 4 * len(shared) > 3 * len(np.__all__)
try:
    x[0, 0] = 7.0
except TypeError as error:
    message = str(error)
assert "immutable" in message
assert (x[0, 0], y[0, 0]) == (0.0, 7.0)

# %% [markdown]
# ## jit runs your Python once { #jit }
#
# **Predict.** `f` prints a line when Python executes it.
# It is called three times below.
# How often does it print, and what is `x` at that time?


# %% open="What the three calls print"
@jax.jit
def f(x):
    print("Python runs f, and x is", x)
    return 2.0 * x + 1.0


for argument in (jnp.ones(3), jnp.zeros(3), jnp.ones(4)):
    print("result:", f(argument))

# %% [markdown]
# `x` is a *tracer*: a shape and an element type without numbers.
# JAX called `f` with the tracer, recorded the operations, and compiled them.
# The second call has an argument of the same shape, so it ran the compiled program and none of your Python.
# The third call has an argument of another shape, which needs another program.

# %% check="Python ran only for the first and the third call."
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
# What do the two lines print for `x = 2`?


# %% open="The first and the second derivative"
def parabola(x):
    return 3.0 * x**2 + 2.0 * x


print(jax.grad(parabola)(2.0))
print(jax.grad(jax.grad(parabola))(2.0))

# %% [markdown]
# JAX recorded nothing in `x`, and there is no `backward()`.
# `jax.grad(parabola)` is a function, which you can differentiate again, compile or map.

# %% check="The derivative is a function that can be differentiated, compiled and mapped."
derivative = jax.grad(parabola)
assert derivative(2.0) == jax.jit(derivative)(2.0) == 14.0
assert jax.grad(derivative)(2.0) == 6.0
assert jax.vmap(derivative)(jnp.array([0.0, 2.0])).tolist() == [2.0, 14.0]

# %% [markdown]
# ## vmap adds a dimension { #vmap }
#
# The function `dot` is written for two vectors.
#
# **Predict.** `vmap` applies it to four rows.
# How often does `dot` print, and which shapes does it see?


# %% open="The shapes that dot saw"
def dot(a, b):
    print("dot sees", a.shape, "and", b.shape)
    return jnp.sum(a * b)


rows = jnp.arange(12.0).reshape(4, 3)
jax.vmap(dot, in_axes=(0, None))(rows, jnp.ones(3))

# %% [markdown]
# It prints once, for one row, and there is no loop.
# `vmap` called your function with a tracer that hides the extra dimension, and added that dimension to each operation.

# %% check="dot is traced once, for one row; the operations have all four rows, and there is no loop."
shapes = []


def watched(a, b):
    shapes.append((a.shape, isinstance(a, jax.core.Tracer)))
    return jnp.sum(a * b)


mapped = jax.make_jaxpr(jax.vmap(watched, in_axes=(0, None)))(rows, jnp.ones(3))
assert shapes == [((3,), True)]
operations = {equation.primitive.name: equation for equation in mapped.eqns}
assert operations["mul"].outvars[0].aval.shape == (4, 3)
assert operations["reduce_sum"].outvars[0].aval.shape == (4,)
assert operations.keys().isdisjoint({"scan", "while"})

# %% [markdown]
# ## JAX compared with PyTorch { #pytorch }
#
# Here are three habits from PyTorch and their counterparts in JAX.

# %% pairs="all"
from xla_inspect.practice import pairs

pairs()

# %% [markdown]
# ## A model as a pure function { #model }
#
# The model has no class and no state: its parameters are an argument, and its result depends only on its arguments.
# The later phases follow this model through the compiler.
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
# `params` is a named tuple of four arrays, a *pytree*: JAX flattens it into its arrays and rebuilds it where needed.

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
# The gradient has the same structure as the parameters, so a training step is one line.


# %%
def step(params):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slope(params, x, y))


print(f"{loss(params, x, y):.2f} before the step, {loss(step(params), x, y):.2f} after it")

# %% check="There are four parameters, the gradient has the same structure, and a step lowers the loss."
gradient = slope(params, x, y)
assert len(jax.tree.leaves(params)) == 4
assert isinstance(gradient, type(params))
assert jax.tree.map(jnp.shape, gradient) == jax.tree.map(jnp.shape, params)
assert loss(step(params), x, y) < loss(params, x, y)

# %% [markdown]
# ## Your turn { #exercises }
#
# Each of these four exercises is a file with a marked place for your code.
# The check compiles your code and judges it by the compiler's output.

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
# You now have a function that a compiler can compile as a whole.
# [The next phase](jaxpr.py) reads the record that JAX made when it traced the function.
