# %% [markdown]
# ---
# description: Fifteen minutes with grad and vmap, the equations that each adds to the jaxpr of a model, and the kernels that result.
# minutes: 15
# ---
# # What grad and vmap add
#
# `grad` and `vmap` write programs: each transforms a function into one with a longer jaxpr or with larger arrays.
# Here you see the equations that each adds, and the kernels that the compiler makes of them.

# %%
import re

from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.practice import Equations, compare_counts
from xla_inspect.practice import PARAMS, X, Y, loss, mlp, shape
from xla_inspect.practice import across, exercise, references, table
from xla_inspect.practice import describe_kernels

import jax
import jax.numpy as jnp

# %% [markdown]
# ## What grad adds { #grad }
#
# ```python
# def loss(params, x, y):
#     return jnp.mean((mlp(params, x) - y) ** 2)
# ```
#
# **Predict.** The model has two matmuls.
# How many matmuls does its gradient with respect to the parameters have: two, four, five or six?

# %% open="Primitives of the loss and of its gradient"
plain = Equations(loss, PARAMS, X, Y)
slope = Equations(jax.grad(loss), PARAMS, X, Y)
table(["primitive", "loss", "gradient"], compare_counts(plain.primitives, slope.primitives))

# %% [markdown]
# In the backward pass, each matmul needs two more: one for the gradient of its weights and one for the gradient of its input.
# The gradient of the first layer's input is not requested, so one of them is missing.
#
# You can recognize the other equations:
# `gt`, `eq` and `select_n` are the derivative of the relu, which is zero, one, or one half if the input is exactly zero.
# `reduce_sum` is the derivative of a bias, which was added to every row, and `transpose` belongs to the derivative of a matmul.

# %% check="The gradient has five matmuls and the loss two; the derivative of relu is zero, one half or one."
assert (plain.primitives["dot_general"], slope.primitives["dot_general"]) == (2, 5)
assert slope.primitives["select_n"] == 2
assert plain.primitives["select_n"] == plain.primitives["transpose"] == 0
assert slope.primitives["gt"] == slope.primitives["eq"] == 1
choice = jax.vmap(jax.grad(lambda x: jnp.maximum(x, 0.0)))
assert choice(jnp.array([-1.0, 0.0, 1.0])).tolist() == [0.0, 1 / 2, 1.0]
bias = Equations(jax.grad(lambda b, x: jnp.vdot(x, jnp.ones_like(x) + b)), PARAMS.b2, Y)
assert bias.primitives["reduce_sum"] >= 1
weights = Equations(jax.grad(lambda w, x, y: jnp.vdot(x @ w, y)), PARAMS.w2, shape(32, 128), Y)
assert weights.primitives["transpose"] == 1

# %% [markdown]
# ## The kernels of a gradient { #kernels }
#
# The gradient's jaxpr contains the whole forward pass, and more than half of its lines are new.
#
# **Predict.** By what factor does the number of kernels grow on the CPU?

# %% open="Kernels of the loss"
forward = capture_all(loss, PARAMS, X, Y)
across(forward, lambda one: len(list_kernels(one)), "kernels")

# %% open="Kernels of the gradient"
backward = capture_all(jax.grad(loss), PARAMS, X, Y)
across(backward, lambda one: len(list_kernels(one)), "kernels")

# %% open="What each kernel of the gradient computes on the CPU"
table(["kernel", "kind", "what it computes"], describe_kernels(backward["cpu"]))

# %% [markdown]
# Count the matmuls first: each is a separate kernel.
# The other operations are fused: comparisons, selections and multiplications share kernels with each other and with a reduction.
#
# Does the gradient compute the loss itself?
# The mean is in the jaxpr, but nothing uses its value.
# JAX removes it when it lowers the jaxpr, so no kernel computes it.

# %% check="The gradient has more than twice the kernels: one for each of five matmuls, a few for the rest, and none for the mean, which JAX removes."
work = [computes for _, _, computes in describe_kernels(backward["cpu"])]
assert [computes for computes in work if "dot" in computes] == ["dot"] * 5
small = [computes for computes in work if "compare" in computes or "select" in computes]
assert len(small) == 1
assert {"2 compare", "2 select", "multiply"} <= set(small[0].split(", "))
assert any({"2 multiply", "reduce"} <= set(computes.split(", ")) for computes in work)
assert len(list_kernels(backward["cpu"])) > 2 * len(list_kernels(forward["cpu"]))
assert plain.primitives <= slope.primitives
assert len(slope) > 2 * len(plain)
assert slope.unused >= 1
handed = backward["cpu"].stablehlo.count("stablehlo.reduce(")
assert handed == slope.primitives["reduce_sum"] - 1 == 4
assert "dimensions = [0, 1]" not in backward["cpu"].stablehlo
assert "dimensions = [0, 1]" in forward["cpu"].stablehlo

# %% [markdown]
# ## What vmap adds { #vmap }
#
# Trace `mlp` for one example, `f32[64]`, and let `vmap` extend it to a batch.
#
# **Predict.** How many more lines does the jaxpr have then, and is there a loop?

# %% open="One example" output="jaxpr"
row = shape(64)
jax.make_jaxpr(mlp)(PARAMS, row)

# %% open="The primitives of one example and of a batch of them"
batched = jax.vmap(mlp, in_axes=(None, 0))
table(
    ["primitive", "one example", "vmap"],
    compare_counts(Equations(mlp, PARAMS, row).primitives, Equations(batched, PARAMS, X).primitives),
)

# %% [markdown]
# There is no loop, and there are no separate lines for each example.
# Each matmul of a vector and a matrix became a matmul of two matrices, with the same primitive.
# There are two more lines, which broadcast the biases to rows.
#
# **Predict.** Is that the program that you would write for a batch by hand?

# %% open="Kernels of vmap, and of the model called with a batch"
by_hand, by_vmap = capture(mlp, PARAMS, X), capture(batched, PARAMS, X)
written = {"by hand": by_hand, "by vmap": by_vmap}
table(
    ["written", "kernels"],
    [(name, ", ".join(row[0] for row in describe_kernels(one))) for name, one in written.items()],
)

# %% check="vmap adds two lines and no loop, and it compiles to the same module as a batch written by hand."
one_line, many_lines = Equations(mlp, PARAMS, row), Equations(batched, PARAMS, X)
assert many_lines.primitives - one_line.primitives == {"broadcast_in_dim": 2}
assert many_lines.primitives.keys().isdisjoint({"scan", "while"})
operands = [
    [len(variable.aval.shape) for variable in each.invars]
    for equations in (one_line, many_lines)
    for each in equations
    if each.primitive.name == "dot_general"
]
assert operands == [[1, 2], [1, 2], [2, 2], [2, 2]]
texts = [re.sub(r", metadata=\{[^}]*\}", "", one.after) for one in (by_hand, by_vmap)]
assert "fusion(" in texts[0]
assert texts[0] == texts[1]

# %% [markdown]
# ## Both at once { #both }
#
# Together, `grad` and `vmap` compute a gradient for each example, which is hard in frameworks without `vmap`.
#
# **Predict.** `jax.grad` of the mean loss sums over the examples.
# Which matmuls have to change if nothing is summed over examples?

# %% open="Primitives of the gradient, and of a gradient for each example"
each = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
table(
    ["primitive", "gradient", "gradient for each example"],
    compare_counts(slope.primitives, Equations(each, PARAMS, X, Y).primitives),
)

# %% [markdown]
# The number of matmuls stays the same.
# The matmuls for the gradients of the weights summed over examples.
# Now the examples are a *batch dimension* of these matmuls, and the sum over examples (`reduce_sum`, for the biases) is not computed.
# Only the memory grows, because there is one gradient for each example.

# %% check="The number of matmuls is the same, and two of them sum over examples or have them as a batch; there are fewer sums, and results are larger by the number of examples."
mapped = Equations(each, PARAMS, X, Y)
assert mapped.primitives["dot_general"] == slope.primitives["dot_general"]
assert mapped.primitives["reduce_sum"] < slope.primitives["reduce_sum"]
summing, batch = (((0,), (0,)), ((), ())), (((), ()), ((0,), (0,)))
dimensions = [
    [each.params["dimension_numbers"] for each in equations if each.primitive.name == "dot_general"]
    for equations in (slope, mapped)
]
assert [each.count(summing) for each in dimensions] == [2, 0]
assert [each.count(batch) for each in dimensions] == [0, 2]
assert sum(each.params["axes"] == (0,) for each in slope if each.primitive.name == "reduce_sum") == 4
assert [each.params["axes"] for each in mapped if each.primitive.name == "reduce_sum"] == [(1,)]
one, many = capture(jax.grad(loss), PARAMS, X, Y), capture(each, PARAMS, X, Y)
assert X.shape[0] - 1 < many.memory.outputs / one.memory.outputs < X.shape[0] + 1

# %% [markdown]
# ## Your turn { #exercises }

# %% exercise="transforms/count_products"
exercise("transforms/count_products")

# %% exercise="transforms/per_example"
exercise("transforms/per_example")

# %% exercise="transforms/hessian_vector"
exercise("transforms/hessian_vector")

# %% [markdown]
# ## References { #references }

# %% references="transforms"
references("transforms")

# %% [markdown]
# ## Next { #next }
#
# That was the last phase.
# [The capstone](capstone.py) gives you a model with four faults, which you find in its dump and fix.
