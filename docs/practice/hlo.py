# %% [markdown]
# ---
# description: Twenty-five minutes of reading HLO, its lines, fusions, layouts and constants, and the files that the compiler dumps.
# minutes: 25
# ---
# # HLO
#
# The compiler keeps your program as *HLO*, from the first pass to the last, and will write it down at any point.
# Here you dump it, read it, and find three things in it: the fusions, the layouts and where the constants went.
# [Reading HLO](../reading-hlo.md) explains every part of a line.

# %%
from xla_inspect import capture, capture_all
from xla_inspect.practice.models import PARAMS, X, classify, shape
from xla_inspect.practice.notebook import across, entries, exercise, listing, references, table
from xla_inspect.practice.tables import kernels, list_constants, list_kernels, list_layouts
from xla_inspect.report.listing import print_computation

# %% [markdown]
# ## Get a dump { #dump }
#
# Any JAX program shows its HLO with nothing but JAX: `jax.jit(f).lower(*args).compile().as_text()`.
# The compiler itself writes every stage into a folder when `XLA_FLAGS` asks for it, and one command does both for you:
#
# ```sh
# uv run python -m xla_inspect.hlo_dump --to dump
# ```
#
# It prints what each file in `dump` is.
# In a notebook, `capture` returns the same stages as data.

# %%
found = capture(classify, PARAMS, X)
listing(print_computation(found.unoptimized_module.entry))

# %% [markdown]
# This is the module as the compiler got it.
# `classify` brings pixels into the range from `-1` to `1` and hands them to the model: `mlp(params, (pixels - 127.5) / 127.5)`.
#
# ## Read a line { #line }
#
# Every line has the same form:
#
# ```text
# %name = type[shape]{layout} opcode(%operands), attributes
# ```
#
# * `ROOT` marks what the computation returns, `ENTRY` the computation that runs first.
# * `parameter(4)` is the fifth argument: parameters are numbered as the leaves of the arguments.
# * Attributes say what the operands leave open: `dot` names the dimensions that it contracts.
#
# **Predict.** The compiler may do what it likes as long as the numbers stay right.
# Which of these lines will survive?

# %% open="ENTRY after optimization"
listing(print_computation(found.module.entry))

# %% [markdown]
# ## Find the fusions { #fusions }
#
# A *fusion* is one kernel that computes several operations without writing what lies between them to memory.
# Its line says `fusion(...)`, its kind, and the computation it `calls`.
#
# **Predict.** Which operations ended up together?

# %% open="The kernels, in order, and what each computes"
table(["kernel", "kind", "what it computes"], list_kernels(found))

# %% [markdown]
# The CPU hands each product to a library, as a fusion of kind `kCustom`.
# What stands between two products became one loop each, a `kLoop`: one pass over memory for a bias, its broadcast and a relu together.

# %% check="On the CPU, each product is a kCustom fusion, and every other kernel a loop."
kinds = [kind.split()[0] for _, kind, _ in list_kernels(found)]
assert kinds == ["kLoop", "kCustom", "kLoop", "kCustom", "kLoop"]
assert [text for _, kind, text in list_kernels(found) if kind.startswith("kCustom")] == ["dot", "dot"]

# %% [markdown]
# The other compilers draw the borders elsewhere.
#
# **Predict.** Will an H100 and a TPU need more kernels than the CPU, or fewer?

# %% open="Kernels on three targets"
targets = capture_all(classify, PARAMS, X)
across(targets, lambda one: len(kernels(one)), "kernels")

# %% check="The H100 needs fewer kernels than the CPU, and the TPU needs one."
if set(targets) >= {"h100", "tpu-v5e"}:
    assert len(kernels(targets["cpu"])) > len(kernels(targets["h100"])) > len(kernels(targets["tpu-v5e"])) == 1

# %% [markdown]
# ## Find the layouts { #layouts }
#
# After every shape stands its layout: `{1,0}` says that the last dimension is the one whose elements lie side by side in memory.
# The compiler chooses it for every array that neither comes from you nor goes back to you.
#
# **Predict.** `turned` returns the transpose of a product.
# Transposing can mean moving every element, or only reading the same memory the other way round.
# Which do the three compilers choose?

# %% open="ENTRY on three targets"
import jax.numpy as jnp


def turned(x, w):
    return jnp.tanh(x @ w).T


entries(capture_all(turned, shape(128, 64), shape(64, 256)))

# %% [markdown]
# Compare the layout of the product with that of the result.
# The CPU's library writes the product as `{1,0}`, so the last kernel has to move the elements while it takes the hyperbolic tangent.
# The H100 writes the product with the layout `{0,1}` at once, and a `bitcast` makes a transpose of it: another type for the same bytes, at no cost.
# The TPU's kernel writes the transpose itself; its layouts also carry tiles, `T(8,128)`.

# %% check="The CPU transposes in its last kernel, the H100 by a bitcast."
found_turned = capture_all(turned, shape(128, 64), shape(64, 256))
assert "transpose" in list_kernels(found_turned["cpu"])[-1][2]
if "h100" in found_turned:
    assert found_turned["h100"].module.entry.root.opcode == "bitcast"
    assert [layout for _, _, layout in list_layouts(found_turned["h100"])][-2:] == ["{0,1}", "{1,0}"]
if "tpu-v5e" in found_turned:
    assert len(kernels(found_turned["tpu-v5e"])) == 1

# %% [markdown]
# ## Find the constants { #constants }
#
# The Python says `127.5` twice: it subtracts, and it divides.
#
# **Predict.** Which constants will the optimized module hold?

# %% open="The constants, before and after"
constants = {"before": list_constants(found.unoptimized_module), "after": list_constants(found.module)}
table(["module", "value", "shape", "where"], [(name, *row) for name, rows in constants.items() for row in rows])

# %% [markdown]
# The subtraction became an addition of the negative, and the division a multiplication by the reciprocal, worked out while compiling.
# And each constant moved into the fusion that needs it, where it costs nothing: a scalar in a register, not an array in memory.

# %% check="Afterwards all constants stand in fusions, one of them negative, one a reciprocal."
assert all(where.startswith("inside") for _, _, where in constants["after"])
assert {value for value, _, _ in constants["after"]} == {"0", "-127.5", "0.00784313772"}
assert abs(1 / 127.5 - 0.00784313772) < 1e-9

# %% [markdown]
# ## Your turn { #exercises }

# %% exercise="hlo/read_dump"
exercise("hlo/read_dump")

# %% exercise="hlo/one_fusion"
exercise("hlo/one_fusion")

# %% exercise="hlo/constants"
exercise("hlo/constants")

# %% exercise="hlo/donate"
exercise("hlo/donate")

# %% [markdown]
# ## References { #references }

# %% references="hlo"
references("hlo")

# %% [markdown]
# ## Next { #next }
#
# You have seen before and after.
# [The next phase](optimization.py) asks what happened in between, and which pass did it.
