# %% [markdown]
# ---
# description: Twenty minutes with the compiler's passes, what each did to a wasteful program, and predicting kernels before looking.
# minutes: 20
# ---
# # Optimization
#
# Between the module that the compiler gets and the one that runs lie a hundred passes and more, most of which change nothing.
# Here you compare before and after, find out who did what, and then predict the number of kernels for three new programs.

# %%
from xla_inspect import capture, capture_all
from xla_inspect.practice.models import PARAMS, PREDICTED, X, wasteful
from xla_inspect.practice.notebook import across, exercise, references, sentences, table
from xla_inspect.practice.tables import categories, kernels, list_decisions, list_kernels, list_passes

# %% [markdown]
# ## A program that asks for it { #wasteful }
#
# ```python
# def wasteful(params, x):
#     x = x.T.T
#     hidden = jnp.maximum((x - 0.0) @ params.w1 + params.b1 + 0.0, 0.0)
#     scores = jnp.negative(jnp.negative(hidden @ params.w2 + params.b2))
#     shifted = scores - jnp.max(scores, axis=-1, keepdims=True)
#     total = jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True)
#     return jnp.exp(shifted) / total
# ```
#
# **Predict.** Six things here are wasted: two transpositions, a difference with zero, a sum with zero, two negations, an exponential that is computed twice, and a division of each number where one a row would do.
# Which of them never reach the compiler, which does it remove, and which does it keep?

# %% open="Operations by category, before and after"
found = capture(wasteful, PARAMS, X)
table(["category", "before", "after", "what changed"], categories(found.unoptimized_module, found.module))

# %% [markdown]
# Look at the numbers that went down.
# The negations are gone, one of two exponentials is gone, and half of what moves data.
# *Structure* went up: each fusion has parameters of its own.
# The two transpositions, the difference and the sum with zero are not even in *before*.
# The division is still there, but it divides one number a row, and `multiply` came in to apply that reciprocal to the others.

# %% check="Negations go, one exponential goes, a row is divided once, and four wastes never came in."
before, after = found.unoptimized_module.opcode_counts(), found.module.opcode_counts()
assert (before["negate"], after["negate"]) == (2, 0)
assert (before["exponential"], after["exponential"]) == (2, 1)
assert before["transpose"] == before["multiply"] == 0
assert (before["subtract"], before["add"]) == (1, 3)  # the shift; two biases, and the step of a sum
divided = [
    [each.shape.dimensions for each in module.walk() if each.opcode == "divide"]
    for module in (found.unoptimized_module, found.module)
]
assert divided == [[(32, 16)], [(32,)]]
assert after["multiply"] == 1

# %% [markdown]
# ## Who did it { #passes }
#
# A capture keeps the module after every pass that changed it.
#
# **Predict.** One pass simplifies algebra, one finds what is computed twice, one fuses.
# In which order will they come?

# %% open="The passes that changed the text of the module"
table(["pass", "what it did", "instructions left"], list_passes(found))

# %% [markdown]
# `algsimp` knows rules such as *the negative of the negative of x is x*.
# `cse`, common subexpression elimination, merges operations that are equal and have equal operands.
# Fusion comes late, when there is nothing left to simplify: a fused operation is hard to see through.
# [Simplification](../simplification.md) lists the rules, and [Fusion](../fusion.md) shows what decides.

# %% check="algsimp comes before cse, and both before fusion."
names = [name for name, _, _ in list_passes(found)]
assert names.index("algsimp") < names.index("cse") < names.index("fusion")
gone = {name: text for name, text, _ in list_passes(found)}
assert "2 negate" in gone["algsimp"]
assert "1 exponential" in gone["cse"]

# %% [markdown]
# ## What was decided { #decisions }
#
# The same in sentences, each counted from what the compiler left.

# %%
sentences(list_decisions(found))

# %% [markdown]
# ## Predict the kernels { #predict }
#
# Now three programs that you have not seen.
# Write down how many kernels each launches on the CPU *before* you open the answer; then say why.
#
# Three rules carry you far.
#
# * Operations on elements are fused, whatever their number.
# * On the CPU a product of matrices is a kernel of its own.
# * A reduction needs all its input before it has a result, so what needs that result comes in a later kernel.

# %% [markdown]
# ```python
# def decay(x):  # f32[1024,256]
#     return jnp.exp(-jnp.abs(x)) * jnp.cos(3.0 * x) + 0.5 * jnp.tanh(x)
# ```

# %% open="decay: the kernels on the CPU"
programs = {name: capture_all(function, *shapes) for name, (function, shapes) in PREDICTED.items()}
table(["kernel", "kind", "what it computes"], list_kernels(programs["decay"]["cpu"]))

# %% [markdown]
# ```python
# def center(x):  # f32[1024,256]
#     return x - jnp.mean(x, axis=-1, keepdims=True)
# ```

# %% open="center: the kernels on the CPU"
table(["kernel", "kind", "what it computes"], list_kernels(programs["center"]["cpu"]))

# %% [markdown]
# ```python
# def gated(x, w, v):  # f32[128,64], f32[64,256], f32[64,256]
#     return jax.nn.sigmoid(x @ w) * (x @ v)
# ```

# %% open="gated: the kernels on the CPU"
table(["kernel", "kind", "what it computes"], list_kernels(programs["gated"]["cpu"]))

# %% check="One kernel, then two, then three."
assert [len(kernels(each["cpu"])) for each in programs.values()] == [1, 2, 3]

# %% [markdown]
# Would the H100 and the TPU have agreed with you?

# %% open="center on three targets"
across(programs["center"], lambda one: len(kernels(one)), "kernels")

# %% open="gated on three targets"
across(programs["gated"], lambda one: len(kernels(one)), "kernels")

# %% [markdown]
# ## Your turn { #exercises }

# %% exercise="optimization/categories"
exercise("optimization/categories")

# %% exercise="optimization/find_pass"
exercise("optimization/find_pass")

# %% exercise="optimization/vanish"
exercise("optimization/vanish")

# %% exercise="optimization/predict_kernels"
exercise("optimization/predict_kernels")

# %% [markdown]
# ## References { #references }

# %% references="optimization"
references("optimization")

# %% [markdown]
# ## Next { #next }
#
# So far the program was the one you wrote.
# [The next phase](transforms.py) looks at the programs that `grad` and `vmap` write for you.
