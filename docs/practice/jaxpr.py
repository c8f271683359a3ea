# %% [markdown]
# ---
# description: The jaxpr of a small model in twenty minutes, with its primitives explained and its data followed from argument to result.
# minutes: 20
# ---
# # Read your jaxpr
#
# Tracing turns your Python code into a list of operations, the *jaxpr*, and only these operations reach the compiler.
# Here you read the jaxpr of the model from [the first phase](basics.py), line by line.
# [The chapter on jaxprs](../jaxpr.md) explains more.

# %%
import re

from xla_inspect.practice import Equations, explain
from xla_inspect.practice import PARAMS, X, mlp
from xla_inspect.practice import exercise, references, table

import jax
import jax.numpy as jnp

# %% [markdown]
# ## Capture it { #capture }
#
# `jax.make_jaxpr` traces a function and compiles nothing.
# It needs shapes but no numbers.
#
# **Predict.** `mlp` has two matmuls, two additions and a relu.
# How many lines will the jaxpr have?

# %% open="The jaxpr of mlp" output="jaxpr"
jax.make_jaxpr(mlp)(PARAMS, X)

# %% [markdown]
# Read the jaxpr as a program.
# The arguments are between `lambda ;` and `let`, one for each leaf of the pytree: `a` to `d` are the parameters, and `e` is `x`.
# Each line below binds a result, with its type, to a *primitive* applied to earlier values.
# The results of the function follow `in`.
#
# The jaxpr has two lines more than your Python has operations: `broadcast_in_dim` gives each bias a second dimension, so that it can be added to rows.

# %% check="Tracing compiles nothing and needs only shapes; two lines besides the five operations give each bias a second dimension."
from xla_inspect.practice import compiles

with compiles() as compilations:
    traced = jax.make_jaxpr(mlp)(PARAMS, X)
assert compilations == []
leaves = jax.tree.leaves((PARAMS, X))
assert {type(leaf) for leaf in leaves} == {jax.ShapeDtypeStruct}
assert [variable.aval.shape for variable in traced.jaxpr.invars] == [leaf.shape for leaf in leaves]
broadcasts = [each.outvars[0].aval.shape for each in traced.eqns if each.primitive.name == "broadcast_in_dim"]
assert broadcasts == [(1, 128), (1, 16)]
assert len(traced.eqns) - len(broadcasts) == 5

# %% [markdown]
# ## Identify the primitives { #primitives }
#
# **Predict.** Which of these primitives do arithmetic, and which only move data?

# %% open="The primitives of mlp, how often they occur, and what each does"
equations = Equations(mlp, PARAMS, X)
equations.name_inputs("params", "x")
table(
    ["primitive", "times", "what it does"],
    [(name, count, explain(name)) for name, count in equations.primitives.items()],
)

# %% check="The jaxpr has two matmuls along adjacent dimensions, two broadcasts, two additions, and a maximum with a literal zero."
assert equations.primitives == {"dot_general": 2, "broadcast_in_dim": 2, "add": 2, "max": 1}
by_name = {equation.primitive.name: equation for equation in equations}
assert by_name["dot_general"].params["dimension_numbers"] == (((1,), (0,)), ((), ()))
assert by_name["max"].invars[1].val == 0.0

# %% [markdown]
# `dot_general` is the expensive primitive.
# Its parameters give the dimensions that are summed over, here the last of the first operand and the first of the second.
# There is no `relu` primitive.
# `jnp.maximum(h, 0.0)` is `max` with a literal, which is written directly in the equation that uses it.

# %% [markdown]
# ## Follow the data { #data }
#
# This table has the same lines with more familiar names.
# `r1` is the result of the first line.

# %%
table(["line", "primitive", "reads", "makes", "shape"], equations.rows())

# %% [markdown]
# Start at the last line and go up.
# Which lines does the result need?
#
# **Predict.** If nobody needed `params.b2`, which lines would be removed?

# %% [markdown] fold="Lines that depend on b2"
# The `broadcast_in_dim` of `b2` and the last `add` would be removed.
# All lines above them are needed for the matmul whose result `add` reads.
# [An exercise below](#exercise-follow) asks you to write a program that finds such lines.

# %% check="Without b2, a broadcast and an addition are removed, and the result needs every other line."
without = Equations(lambda params, x: jnp.maximum(x @ params.w1 + params.b1, 0.0) @ params.w2, PARAMS, X)
assert equations.primitives - without.primitives == {"broadcast_in_dim": 1, "add": 1}
assert [row[2] for row in equations.rows()][-2:] == ["params.b2", "r5, r6"]
assert equations.unused == without.unused == 0

# %% [markdown]
# ## What a jaxpr leaves out { #lost }
#
# **Predict.** The function below has a loop, a condition and an unused variable.
# Which of them are in its jaxpr?


# %% open="The traced jaxpr" output="jaxpr"
def wordy(x, depth=3):
    unused = jnp.exp(x)
    for _ in range(depth):
        x = x + 1.0 if depth > 2 else x - 1.0
    return x


jax.make_jaxpr(wordy)(1.0)

# %% [markdown]
# Python ran the loop while JAX traced the function, so the jaxpr contains the body once for each iteration.
# Python also evaluated the condition.
# `exp` is in the jaxpr although nothing reads its result, because tracing records every operation.
# JAX removes it later, when it lowers the jaxpr for the compiler.
# In [the capstone](capstone.py), a loop like this one is a fault that you have to find.

# %% check="The loop is unrolled, the condition is gone, and the unused exponential remains until JAX lowers the jaxpr."
traced_wordy = Equations(wordy, 1.0)
assert traced_wordy.primitives == {"exp": 1, "add": 3}
assert traced_wordy.unused == 1
lowered = jax.jit(wordy).lower(1.0).as_text()
assert lowered.count("stablehlo.add") == 3
assert not re.search("exponential|compare|while", lowered)

# %% [markdown]
# ## Jaxprs inside jaxprs { #inner }
#
# `jax.nn.relu` is itself a jitted function.
#
# **Predict.** What does its equation look like?

# %% open="A jaxpr within an equation" output="jaxpr"
jax.make_jaxpr(lambda x: jax.nn.relu(x) + 1.0)(jnp.ones(3))

# %% [markdown]
# The equation is a `custom_jvp_call`, because relu defines a rule for its derivative, and it contains an inner jaxpr.
# That jaxpr contains an equation called `jit`, which contains another jaxpr.
# Loops (`scan`, `while`) and conditions (`cond`) contain jaxprs in the same way, so a program that walks over a jaxpr has to visit the inner ones too.

# %% check="relu is a jaxpr in a jaxpr in a jaxpr; loops and conditions contain jaxprs too."
from jax.extend.core import jaxprs_in_params

outer = jax.make_jaxpr(jax.nn.relu)(jnp.ones(3)).eqns[0]
(middle,) = jaxprs_in_params(outer.params)
(inner,) = middle.eqns
assert (outer.primitive.name, inner.primitive.name) == ("custom_jvp_call", "jit")
assert [each.primitive.name for (deepest,) in [jaxprs_in_params(inner.params)] for each in deepest.eqns] == ["max"]
holders = {
    "scan": lambda x: jax.lax.scan(lambda carry, _: (carry + 1, None), x, length=9),
    "while": lambda x: jax.lax.while_loop(lambda carry: carry < 9, lambda carry: carry + 1, x),
    "cond": lambda x: jax.lax.cond(x < 9, jnp.sin, jnp.cos, x),
}
for name, function in holders.items():
    inside = {each.primitive.name: list(jaxprs_in_params(each.params)) for each in jax.make_jaxpr(function)(1.0).eqns}
    assert inside[name], name

# %% [markdown]
# ## Your turn { #exercises }

# %% exercise="jaxpr/primitives"
exercise("jaxpr/primitives")

# %% exercise="jaxpr/follow"
exercise("jaxpr/follow")

# %% exercise="jaxpr/from_jaxpr"
exercise("jaxpr/from_jaxpr")

# %% [markdown]
# ## References { #references }

# %% references="jaxpr"
references("jaxpr")

# %% [markdown]
# ## Next { #next }
#
# The jaxpr describes what is computed but not how.
# [The next phase](hlo.py) reads the compiler's version of the program.
