# %% [markdown]
# ---
# description: A slow model with four pieces of evidence, and a second one without any, which you fix and which are judged by their dumps.
# minutes: 50
# ---
# # Fix slow models
#
# A model reads a text piece by piece, and wastes time and memory in four ways.
# The compiler's output shows all four of them without a stopwatch.
# Find them, then fix them.
#
# The model is in `snippets/practice/capstone/slow.py`, and these are its three functions.

# %% quiet="the source of the model"
import inspect

from xla_inspect.practice import listing

from practice.capstone import slow

listing("\n\n".join(inspect.getsource(each) for each in (slow.apply, slow.step, slow.read)), "python")

# %%
from collections import Counter

import numpy as np

from xla_inspect import capture
from xla_inspect.practice import bytes_moved, compiles, count_kernels, count_launches
from xla_inspect.practice import exercise, table
from xla_inspect.practice import describe_kernels
from xla_inspect.report import print_instruction

# %% [markdown]
# ## Read the evidence { #evidence }
#
# There are four pieces of evidence.
# For each of them, write down what is wrong before you look at the next one.
#
# ### How often it compiles { #compiles }
#
# With `JAX_LOG_COMPILES=1`, JAX logs each program that it compiles.
# In this example, the model reads a text in several pieces of different lengths.

# %%
lengths = (64, 48, 33, 64, 17, 5)
with compiles() as lines:
    slow.read(slow.make_layers(), [np.zeros((length, slow.WIDTH), np.float32) for length in lengths])
of_step = [line.rpartition("float32")[2].rstrip(")") for line in lines if "compiled step" in line]
print(len(of_step), "compilations of step for", len(lengths), "pieces, with these shapes of the last argument:")
print(*of_step)

# %% [markdown] fold="What is wrong"
# Each length of a piece is another shape, and each shape needs another program.
# In production, such a model compiles again whenever a new length arrives.

# %% check="JAX compiles once for each length, and not again for an earlier length."
assert len(lengths) == 6
assert len(of_step) == len(set(lengths)) == 5
assert of_step == [f"[{length},128]" for length in dict.fromkeys(lengths)]

# %% [markdown]
# ### What it launches { #launches }

# %%
found = capture(slow.step, *slow.EXAMPLE)
print(count_launches(found), "kernels in each step, of which the first are:")
table(["kernel", "kind", "what it computes"], describe_kernels(found)[:9])

# %% [markdown] fold="What is wrong"
# The same few kernels are repeated for each layer: Python ran the loop while JAX traced the function, which unrolled it into the program.
# Twice as many layers would make the program, and the work to compile it, almost twice as large.

# %% check="A few kinds of kernels are repeated for each layer, and twice the layers need almost twice the operations."
kinds = Counter(computes for _, _, computes in describe_kernels(found))
every_round = [count for count in kinds.values() if count % slow.LAYERS == 0]
assert sum(every_round) > 0.8 * count_launches(found)
assert len(kinds) < 10
deeper = (slow.EXAMPLE[0] * 2, *slow.EXAMPLE[1:])
lines_of = [slow.step.lower(*example).as_text().count("stablehlo.") for example in (slow.EXAMPLE, deeper)]
assert 1.9 < lines_of[1] / lines_of[0] < 2

# %% [markdown]
# ### What a matmul reads { #product }
#
# These are the first matmuls of the module, with the dimensions that they contract.

# %%
dots = [each for each in found.module.walk() if each.opcode == "dot"]
listing("\n".join(print_instruction(each) for each in dots[:2]))

# %% [markdown] fold="What is wrong"
# `lhs_contracting_dims={0}` contracts the *first* dimension of the left operand: the matmul reads a transposed matrix.
# The scores have a column for each token, the maximum and the sum are computed along columns, and no operation is fused with a matmul.

# %% check="The matmuls contract the first dimension of the left operand, the scores have a column per token, and a kernel with a matmul has no other operation."
assert len(dots) == 2 * slow.LAYERS
assert {"lhs_contracting_dims={0}" in print_instruction(each) for each in dots} == {True}
assert dots[0].shape.dimensions == (slow.TOPICS, slow.LONGEST)
assert {computes for _, _, computes in describe_kernels(found) if "dot" in computes} == {"dot"}

# %% [markdown]
# ### What it copies { #copies }
#
# The first line shows which arguments share their buffers with results.
# The instructions of `ENTRY` below it have results as large as the memory of the model.

# %%
size = found.module.entry.root.shape.bytes
large = [each for each in found.module.entry if each.shape.bytes == size]
print("input_output_alias:", found.module.input_output_alias)
listing("\n".join(map(print_instruction, large)))

# %% [markdown] fold="What is wrong"
# No argument shares its buffer with a result.
# The caller might still need the old memory, so the program copies all of it before it writes a few rows.

# %% check="No argument is donated, and the whole memory of the model is copied before rows are written."
assert found.module.input_output_alias is None
assert [each.opcode for each in large] == ["parameter", "copy", "fusion"]
assert large[0].shape.dimensions == (slow.LENGTH, slow.WIDTH)
assert "dynamic-update-slice" in describe_kernels(found)[-1][2]

# %% [markdown]
# ## Fix it { #mend }

# %% exercise="capstone/model"
exercise("capstone/model")

# %% [markdown]
# ## The difference { #difference }
#
# This table compares the reference solution with the start, for a piece of the full length.
#
# **Predict.** Each layer does the same work as before.
# Which of these numbers fall, and which might rise: kernels in the program, kernels launched by a step, bytes, compilations?

# %%
import jax

from practice.solutions.capstone import model as fixed

layers, memory, position, piece = slow.EXAMPLE
stacked = jax.eval_shape(lambda layers: jax.tree.map(lambda *arrays: jax.numpy.stack(arrays), *layers), layers)
is_token = jax.ShapeDtypeStruct((slow.LONGEST, 1), bool)
after = capture(fixed.step, stacked, memory, position, piece, is_token)
with compiles() as again:
    fixed.read(slow.make_layers(), [np.zeros((length, slow.WIDTH), np.float32) for length in lengths])

# %% open="Slow and fixed"
difference = {
    "kernels in the program": (count_kernels(found), count_kernels(after)),
    "kernels launched by a step": (count_launches(found), count_launches(after)),
    "bytes read and written by a step": (bytes_moved(found), bytes_moved(after)),
    "bytes of new memory for its result": tuple(c.memory.outputs - c.memory.aliased for c in (found, after)),
    "compilations for six pieces": (len(of_step), sum("compiled step" in line for line in again)),
}
table(["number", "slow", "fixed"], [(name, *counts) for name, counts in difference.items()])

# %% [markdown]
# The program is smaller, and it no longer grows with the number of layers.
# Six pieces need one compilation and no new memory, and fewer bytes are moved although short pieces are padded.
# The maximum, the subtraction and the exponential now run in the kernel of the matmul before them, because the library computes them together.
#
# Only the number of launches rose.
# Each iteration of the loop has to read the weights of its layer from the stack and increment a counter, which an unrolled program does not need.
# That is the price of a program of constant size.
# For layers as small as these, it can be too high, and `scan(..., unroll=2)` is a compromise.

# %% check="Every number except the launches of a step falls; there is one loop for any number of layers, one compilation and no new memory."
fell = {name: counts[1] < counts[0] for name, counts in difference.items()}
assert fell.pop("kernels launched by a step") is False
assert all(fell.values())
assert list(fell.values()) == [True] * 4
assert difference["compilations for six pieces"][1] == 1
assert difference["bytes of new memory for its result"][1] == 0
assert len(lengths) == 6
stacked_deeper = jax.tree.map(
    lambda each: jax.ShapeDtypeStruct((2 * slow.LAYERS, *each.shape[1:]), each.dtype), stacked
)
sizes = [
    fixed.step.lower(each, memory, position, piece, is_token).as_text().count("\n")
    for each in (stacked, stacked_deeper)
]
assert sizes[0] == sizes[1]
assert after.module.opcode_counts()["while"] == 1
rounds = [computes for _, _, computes in describe_kernels(after)]
assert {"dynamic-slice", "add"} <= set(rounds)
assert [each for each in rounds if "dot" in each] == ["dot, reduce, broadcast, subtract, exponential", "dot"]

# %% [markdown]
# ## A model without evidence { #diagnose }
#
# For the second model, you get no evidence.
# It has some of eight faults.
# Read its dump, and write down the faults with the line that proves each of them.
# Only proven faults count, and your fix is judged after you have proven all of them.

# %% exercise="capstone/diagnose"
exercise("capstone/diagnose")

# %% [markdown]
# ## What you can do now { #done }
#
# You can now diagnose a program without running it: count its compilations, read its launches, find its copies, and trace them to lines of Python.
# [The explorer](../pipeline.md#passes) shows your own program in the same way, pass by pass: `uv run xla-inspect report FILE.py:FUNCTION`.
#
# ## References { #references }
#
# * [JAX: just-in-time compilation, caching and donated buffers](https://docs.jax.dev/en/latest/201/jit.html)
# * [JAX: `scan`, a loop in the program](https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)
# * [XLA: aliasing of arguments and results](https://openxla.org/xla/aliasing)
# * [XLA: operation semantics](https://openxla.org/xla/operation_semantics)
