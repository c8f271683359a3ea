# %% [markdown]
# ---
# description: Fifteen minutes with grad and vmap, what each adds to the jaxpr of a model, and what is left of it in kernels.
# minutes: 15
# ---
# # Grad and vmap
#
# `grad` and `vmap` write programs: each takes a function and makes a longer jaxpr, or a wider one.
# Here you see what each adds, and what the compiler leaves of that.

# %%
from xla_inspect import capture, capture_all
from xla_inspect.practice.equations import Equations, compare_counts
from xla_inspect.practice.models import PARAMS, X, Y, loss, mlp, shape
from xla_inspect.practice.notebook import across, exercise, references, table
from xla_inspect.practice.tables import kernels, list_kernels

import jax

# %% [markdown]
# ## What grad adds { #grad }
#
# ```python
# def loss(params, x, y):
#     return jnp.mean((mlp(params, x) - y) ** 2)
# ```
#
# **Predict.** The model has two matrix products.
# How many has its gradient with respect to the parameters: two, four, five or six?

# %% open="Primitives of the loss and of its gradient"
plain = Equations(loss, PARAMS, X, Y)
slope = Equations(jax.grad(loss), PARAMS, X, Y)
table(["primitive", "loss", "gradient"], compare_counts(plain.primitives, slope.primitives))

# %% [markdown]
# Going backwards, each product needs two more: one for the gradient of its weights, one to pass on to the layer below.
# The first layer has no layer below that anybody asked for, so one of them is missing.
#
# The rest is bookkeeping you can read off:
# `gt`, `eq` and `select_n` are the derivative of the relu, which is zero, one, or one half where the input is exactly zero;
# `reduce_sum` is the derivative of a bias, which was added to every row; `transpose` is that of a product.

# %% check="Five products in the gradient, two in the loss; the derivative of relu is a choice."
assert (plain.primitives["dot_general"], slope.primitives["dot_general"]) == (2, 5)
assert slope.primitives["select_n"] == 2
assert plain.primitives["select_n"] == 0

# %% [markdown]
# ## What is left in kernels { #kernels }
#
# The gradient's jaxpr holds the whole forward pass, and more than half of its lines are new.
#
# **Predict.** By which factor does the number of kernels grow on the CPU?

# %% open="Kernels of the loss"
forward = capture_all(loss, PARAMS, X, Y)
across(forward, lambda one: len(kernels(one)), "kernels")

# %% open="Kernels of the gradient"
backward = capture_all(jax.grad(loss), PARAMS, X, Y)
across(backward, lambda one: len(kernels(one)), "kernels")

# %% open="What each kernel of the gradient computes on the CPU"
table(["kernel", "kind", "what it computes"], list_kernels(backward["cpu"]))

# %% [markdown]
# Count the products first: each is a kernel of its own.
# What is left over is small, and it is where fusion earns its keep: comparisons, choices and products of elements disappear into the kernels around them.
#
# Does the gradient compute the loss itself?
# Nobody asked for its value, so look for the mean in the list: the compiler dropped it.

# %% check="The gradient computes all five products and does not return the loss; it launches more kernels than the loss."
products = sum("dot" in computes.split(", ") for _, _, computes in list_kernels(backward["cpu"]))
assert products == 5
assert len(kernels(backward["cpu"])) > len(kernels(forward["cpu"]))
assert slope.unused >= 1

# %% [markdown]
# ## What vmap adds { #vmap }
#
# Give `mlp` one example, `f32[64]`, and let `vmap` make a batch of it.
#
# **Predict.** How many lines more will the jaxpr have, and will there be a loop?

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
# There is no loop, and no line for each example.
# A product of a vector and a matrix became a product of two matrices: the same primitive, wider.
# Two lines more, for the biases, which have to learn about rows.
#
# **Predict.** Is that the program you would have written for a batch by hand?

# %% open="Kernels of vmap, and of the model called with a batch"
by_hand, by_vmap = capture(mlp, PARAMS, X), capture(batched, PARAMS, X)
written = {"by hand": by_hand, "by vmap": by_vmap}
table(["written", "kernels"], [(name, ", ".join(row[0] for row in list_kernels(one))) for name, one in written.items()])

# %% check="vmap gives the very module that a batch written by hand gives."
assert by_vmap.after.replace("vmap(", "").count("fusion(") == by_hand.after.count("fusion(")
assert list_kernels(by_hand) == list_kernels(by_vmap)

# %% [markdown]
# ## Both at once { #both }
#
# A gradient for each example, which frameworks without `vmap` find hard.
#
# **Predict.** `jax.grad` of the mean loss sums over the examples.
# Which products have to change when the sum goes away?

# %% open="Primitives of the gradient, and of a gradient for each example"
each = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
table(
    ["primitive", "gradient", "a gradient for each"],
    compare_counts(slope.primitives, Equations(each, PARAMS, X, Y).primitives),
)

# %% [markdown]
# The number of products stays.
# Those that made the gradients of the weights were summing over examples; now the examples are a *batch dimension* of the product, and the sum over them (`reduce_sum`, for the biases) is gone.
# What grows is memory: one gradient for each example.

# %% check="As many products, and fewer sums; the results are as many times larger as there are examples."
mapped = Equations(each, PARAMS, X, Y)
assert mapped.primitives["dot_general"] == slope.primitives["dot_general"]
assert mapped.primitives["reduce_sum"] < slope.primitives["reduce_sum"]
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
# [The capstone](capstone.py) gives you a model with four faults and its dump, and nothing else.
