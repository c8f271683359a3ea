# %% [markdown]
# ---
# description: The compiler's passes in twenty minutes, with their effects on a wasteful program, and kernels to predict before you look.
# minutes: 20
# ---
# # Follow the passes
#
# More than a hundred passes turn the module that the compiler gets into the module that runs, and most of them change nothing.
# Here you compare the two modules, find out which pass made which change, and then predict the number of kernels for three new programs.

# %%
import inspect
from itertools import pairwise

from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.practice import PARAMS, PREDICTED, X, wasteful
from xla_inspect.practice import across, exercise, references, sentences, table
from xla_inspect.practice import categories, describe_kernels, list_decisions, list_passes

# %% [markdown]
# ## A wasteful program { #wasteful }
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
# **Predict.** This program wastes work in six ways: two transpositions, a subtraction of zero, an addition of zero, two negations, an exponential that is computed twice, and a division of each number where one division per row would be enough.
# Which of them never reach the compiler's passes, which do the passes remove, and which remain?

# %% open="Operations by category, before and after"
found = capture(wasteful, PARAMS, X)
table(["category", "before", "after", "what changed"], categories(found.unoptimized_module, found.module))

# %% [markdown]
# Look at the numbers that decreased.
# The passes removed the negations, one of two exponentials and most operations that move data.
# The category *structure* grew, because each fusion has its own parameters.
# The two transpositions, the subtraction and the addition of zero are not even in *before*: the conversion of StableHLO to HLO removed them.
# The division remains, but it divides only one number per row, and a new `multiply` applies that reciprocal to the others.

# %% check="There are six kinds of waste: the import removes three, passes remove negations and one exponential, and each row is divided once."
source = inspect.getsource(wasteful)
wastes = {".T": 2, "- 0.0": 1, "+ 0.0": 1, "jnp.negative": 2, "jnp.exp(shifted)": 2, "/ total": 1}
assert {waste: source.count(waste) for waste in wastes} == wastes
assert len(wastes) == 6
handed = [found.stablehlo.count(f"stablehlo.{name} ") for name in ("transpose", "subtract", "add")]
assert handed == [2, 2, 4]
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
counted = {name: (old, new) for name, old, new, _ in categories(found.unoptimized_module, found.module)}
assert counted["data movement"][0] > 2 * counted["data movement"][1]
assert counted["structure"][1] > counted["structure"][0]
assert after["parameter"] - before["parameter"] >= after["fusion"] > before["fusion"] == 0

# %% [markdown]
# ## Which pass did it { #passes }
#
# A capture stores the module after every pass that changed it.
#
# **Predict.** One pass simplifies algebra, one finds duplicate computations, and one fuses.
# In which order do they run?

# %% open="The passes that changed the text of the module"
table(["pass", "what it did", "instructions left"], list_passes(found))

# %% [markdown]
# `algsimp` knows rules such as *the negative of the negative of x is x*.
# `cse`, common subexpression elimination, merges equal operations with equal operands.
# Fusion runs late, when there is nothing left to simplify, because passes cannot easily look into a fusion.
# [Simplification](../simplification.md) lists the rules, and [Fusion](../fusion.md) explains the decisions.

# %% check="Of more than a hundred runs of passes, most change nothing; algsimp changes the module before cse, both before fusion, and neither after it."
names = [name for name, _, _ in list_passes(found)]
assert names.index("algsimp") < names.index("cse") < names.index("fusion")
removals = {name: text for name, text, _ in list_passes(found)}
assert "2 negate" in removals["algsimp"]
assert "1 exponential" in removals["cse"]
assert {"algsimp", "cse"}.isdisjoint(names[names.index("fusion") :])
assert len(found.runs) > 100 > 2 * len(found.passes)
assert all(one.text != next_one.text for one, next_one in pairwise(found.passes))

# %% [markdown]
# ## The changes in sentences { #decisions }
#
# These sentences describe the same changes, with numbers counted in the compiler's modules.

# %%
sentences(list_decisions(found))

# %% [markdown]
# ## Predict the kernels { #predict }
#
# Here are three programs that you have not seen.
# For each, write down how many kernels it launches on the CPU and why *before* you open the answer.
#
# Three rules are enough for these programs.
# A library that computes a matmul or a reduction together with its neighbors is an exception to the last two rules.
# [The capstone](capstone.py) has such a case.
#
# * Any number of element-wise operations are fused.
# * On the CPU, a matmul is a separate kernel.
# * A reduction needs all its input before it has a result, so operations on that result run in a later kernel.

# %% [markdown]
# ```python
# def decay(x):  # f32[1024,256]
#     return jnp.exp(-jnp.abs(x)) * jnp.cos(3.0 * x) + 0.5 * jnp.tanh(x)
# ```

# %% open="decay: the kernels on the CPU"
programs = {name: capture_all(function, *shapes) for name, (function, shapes) in PREDICTED.items()}
table(["kernel", "kind", "what it computes"], describe_kernels(programs["decay"]["cpu"]))

# %% [markdown]
# ```python
# def center(x):  # f32[1024,256]
#     return x - jnp.mean(x, axis=-1, keepdims=True)
# ```

# %% open="center: the kernels on the CPU"
table(["kernel", "kind", "what it computes"], describe_kernels(programs["center"]["cpu"]))

# %% [markdown]
# ```python
# def gated(x, w, v):  # f32[128,64], f32[64,256], f32[64,256]
#     return jax.nn.sigmoid(x @ w) * (x @ v)
# ```

# %% open="gated: the kernels on the CPU"
table(["kernel", "kind", "what it computes"], describe_kernels(programs["gated"]["cpu"]))

# %% check="The programs launch one, two and three kernels; each matmul is a kernel, and operations on a sum run in the next kernel."
assert [len(list_kernels(each["cpu"])) for each in programs.values()] == [1, 2, 3]
assert len(programs) == 3
ran = {name: [text.split(", ") for _, _, text in describe_kernels(each["cpu"])] for name, each in programs.items()}
assert [len(ran["decay"]), len(ran["decay"][0])] == [1, 8]
assert ran["center"][0] == ["reduce"]
assert "subtract" in ran["center"][1]
assert ran["gated"][:2] == [["dot"], ["dot"]]

# %% [markdown]
# Do the H100 and the TPU launch the same numbers of kernels?

# %% open="center on three targets"
across(programs["center"], lambda one: len(list_kernels(one)), "kernels")

# %% open="gated on three targets"
across(programs["gated"], lambda one: len(list_kernels(one)), "kernels")

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
# So far, the compiler got the program that you wrote.
# [The next phase](transforms.py) looks at the programs that `grad` and `vmap` write for you.
