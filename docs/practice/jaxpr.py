# %% [markdown]
# ---
# description: Twenty minutes with the jaxpr of a small model, its primitives named and its data followed from argument to result.
# minutes: 20
# ---
# # Jaxpr
#
# Tracing turns your Python into a list of operations, the *jaxpr*, and nothing that is not in it reaches the compiler.
# Here you read the one of the model from [the first phase](basics.py), line by line.
# [The chapter on jaxprs](../jaxpr.md) has the whole story.

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
# It needs shapes and no numbers.
#
# **Predict.** `mlp` has two matmuls, two additions and a relu.
# How many lines will the jaxpr have?

# %% open="The jaxpr of mlp" output="jaxpr"
jax.make_jaxpr(mlp)(PARAMS, X)

# %% [markdown]
# Read it as a program.
# Between `lambda ;` and `let` stand the arguments, one for each leaf of the pytree: `a` to `d` are the parameters, `e` is `x`.
# Each line below binds a result, with its type, to a *primitive* applied to what stands above.
# After `in` stands what is returned.
#
# Two lines more than operations in your Python: `broadcast_in_dim` gives each bias a second dimension, so that it can be added to rows.

# %% check="Tracing compiles nothing, and takes shapes; two lines beside the five operations give each bias a second dimension."
from xla_inspect.practice import compiles

with compiles() as compiled:
    traced = jax.make_jaxpr(mlp)(PARAMS, X)
assert compiled == []
leaves = jax.tree.leaves((PARAMS, X))
assert {type(leaf) for leaf in leaves} == {jax.ShapeDtypeStruct}
assert [variable.aval.shape for variable in traced.jaxpr.invars] == [leaf.shape for leaf in leaves]
broadcasts = [each.outvars[0].aval.shape for each in traced.eqns if each.primitive.name == "broadcast_in_dim"]
assert broadcasts == [(1, 128), (1, 16)]
assert len(traced.eqns) - len(broadcasts) == 5

# %% [markdown]
# ## Name the primitives { #primitives }
#
# **Predict.** Which of these primitives does real arithmetic, and which only moves data about?

# %% open="The primitives of mlp, how often, and what each does"
equations = Equations(mlp, PARAMS, X)
equations.name_inputs("params", "x")
table(
    ["primitive", "times", "what it does"],
    [(name, count, explain(name)) for name, count in equations.primitives.items()],
)

# %% check="Two matmuls along neighbouring dimensions, two broadcasts, two additions, and a maximum with a literal zero."
assert equations.primitives == {"dot_general": 2, "broadcast_in_dim": 2, "add": 2, "max": 1}
found = {each.primitive.name: each for each in equations}
assert found["dot_general"].params["dimension_numbers"] == (((1,), (0,)), ((), ()))
assert found["max"].invars[1].val == 0.0

# %% [markdown]
# `dot_general` is the one that costs: it names the dimensions that are summed over, here the last of the first operand and the first of the second.
# There is no `relu` primitive.
# `jnp.maximum(h, 0.0)` is `max` with a literal, and a literal stands in the equation that uses it.

# %% [markdown]
# ## Follow the data { #data }
#
# The same lines under names that a reader knows.
# `r1` is the result of the first.

# %%
table(["line", "primitive", "reads", "makes", "shape"], equations.rows())

# %% [markdown]
# Start at the last line and go up: which lines does the result need?
#
# **Predict.** If nobody needed `params.b2`, which lines would be removed?

# %% [markdown] fold="Lines that depend on b2"
# Its `broadcast_in_dim` and the last `add`.
# Everything above them is needed for the matmul that `add` takes.
# [An exercise below](#exercise-follow) asks you to write the program that finds out.

# %% check="Without b2 a broadcast and an addition are removed, and the result needs every other line."
without = Equations(lambda params, x: jnp.maximum(x @ params.w1 + params.b1, 0.0) @ params.w2, PARAMS, X)
assert equations.primitives - without.primitives == {"broadcast_in_dim": 1, "add": 1}
assert [row[2] for row in equations.rows()][-2:] == ["params.b2", "r5, r6"]
assert equations.unused == without.unused == 0

# %% [markdown]
# ## What never gets into it { #lost }
#
# **Predict.** The function below has a loop, a condition and a variable that is not used.
# What of all that is in its jaxpr?


# %% open="What was traced" output="jaxpr"
def wordy(x, depth=3):
    unused = jnp.exp(x)
    for _ in range(depth):
        x = x + 1.0 if depth > 2 else x - 1.0
    return x


jax.make_jaxpr(wordy)(1.0)

# %% [markdown]
# The loop was run by Python while JAX watched, so its body stands there once for each round.
# The condition was decided by Python.
# `exp` is there, although nobody reads its result: tracing writes down what happened.
# JAX drops it later, when it lowers the jaxpr for the compiler.
# In [the capstone](capstone.py) a loop like this one is a fault that you will have to find.

# %% check="The loop is unrolled, the condition is gone, and the unused exponential is there until JAX lowers the jaxpr."
found = Equations(wordy, 1.0)
assert found.primitives == {"exp": 1, "add": 3}
assert found.unused == 1
lowered = jax.jit(wordy).lower(1.0).as_text()
assert lowered.count("stablehlo.add") == 3
assert not re.search("exponential|compare|while", lowered)

# %% [markdown]
# ## Jaxprs inside jaxprs { #inner }
#
# `jax.nn.relu` is jitted itself.
#
# **Predict.** What does its equation look like?

# %% open="A jaxpr within an equation" output="jaxpr"
jax.make_jaxpr(lambda x: jax.nn.relu(x) + 1.0)(jnp.ones(3))

# %% [markdown]
# The equation is a `custom_jvp_call`, since relu brings a rule for its derivative, and holds a jaxpr of its own.
# In that stands an equation called `jit`, which holds another.
# Loops (`scan`, `while`) and conditions (`cond`) hold theirs the same way, so a program that walks over a jaxpr has to go inside.

# %% check="relu is a jaxpr in a jaxpr in a jaxpr; loops and conditions hold theirs too."
from jax.extend.core import jaxprs_in_params

outer = jax.make_jaxpr(jax.nn.relu)(jnp.ones(3)).eqns[0]
(held,) = jaxprs_in_params(outer.params)
(inner,) = held.eqns
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
# The jaxpr says what is computed, and nothing about how.
# [The next phase](hlo.py) reads what the compiler makes of it.
