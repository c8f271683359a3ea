# %% [markdown]
# ---
# description: A model with four exhibits that show what is wrong with it, and a second one of which nothing is said; both mended, and judged by their dumps.
# minutes: 50
# ---
# # Fix slow models
#
# A model reads a text piece by piece, and wastes time and memory in four ways.
# All four can be seen in what the compiler says, and none of them takes a stopwatch: find them, then mend them.
#
# It lies in `snippets/practice/capstone/slow.py`, and these are its three functions.

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
# Four exhibits.
# For each, write down what is wrong before you open the next.
#
# ### How often it compiles { #compiles }
#
# `JAX_LOG_COMPILES=1` makes JAX say what it compiles.
# Here it reads a text of six pieces.

# %%
lengths = (64, 48, 33, 64, 17, 5)
with compiles() as lines:
    slow.read(slow.make_layers(), [np.zeros((length, slow.WIDTH), np.float32) for length in lengths])
of_step = [line.rpartition("float32")[2].rstrip(")") for line in lines if "compiled step" in line]
print(len(of_step), "compiles of step for", len(lengths), "pieces; its last argument each time:")
print(*of_step)

# %% [markdown] fold="What is wrong"
# Each length of a piece is another shape, and each shape is another program.
# A model that is served compiles as long as new lengths come.

# %% check="A compile for each length, and none for a length that came before."
assert len(lengths) == 6
assert len(of_step) == len(set(lengths)) == 5
assert of_step == [f"[{length},128]" for length in dict.fromkeys(lengths)]

# %% [markdown]
# ### What it launches { #launches }

# %%
found = capture(slow.step, *slow.EXAMPLE)
print(count_launches(found), "kernels a step; the first of them:")
table(["kernel", "kind", "what it computes"], describe_kernels(found)[:9])

# %% [markdown] fold="What is wrong"
# The same few kernels come again and again, once for each layer: Python ran the loop while JAX traced, and wrote every round into the program.
# Twice as many layers would make a program almost twice as long, with as much more to compile.

# %% check="Most kernels come once for each layer, in a few kinds; twice the layers, almost twice the operations."
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
# The first matmuls of the module, with the dimensions that they contract.

# %%
dots = [each for each in found.module.walk() if each.opcode == "dot"]
listing("\n".join(print_instruction(each) for each in dots[:2]))

# %% [markdown] fold="What is wrong"
# `lhs_contracting_dims={0}` contracts the *first* dimension of the left operand: the matmul reads a transposed matrix.
# The scores come out with a column for each token, the maximum and the sum run down columns, and each matmul is a kernel that takes none of that along.

# %% check="The matmuls contract the first dimension of the left operand; the scores have a column a token; a kernel with a matmul has nothing else."
assert len(dots) == 2 * slow.LAYERS
assert {"lhs_contracting_dims={0}" in print_instruction(each) for each in dots} == {True}
assert dots[0].shape.dimensions == (slow.TOPICS, slow.LONGEST)
assert {computes for _, _, computes in describe_kernels(found) if "dot" in computes} == {"dot"}

# %% [markdown]
# ### What it copies { #copies }
#
# Which argument gives its memory to a result, as the first line of the module says; and the instructions of `ENTRY` whose result is as large as the memory of the model.

# %%
size = found.module.entry.root.shape.bytes
large = [each for each in found.module.entry if each.shape.bytes == size]
print("input_output_alias:", found.module.input_output_alias)
listing("\n".join(map(print_instruction, large)))

# %% [markdown] fold="What is wrong"
# No argument gives its memory to a result.
# The caller might still need the old memory, so the whole of it is copied before a few rows are written.

# %% check="No memory is given, and the memory of the model is copied whole before rows are written."
assert found.module.input_output_alias is None
assert [each.opcode for each in large] == ["parameter", "copy", "fusion"]
assert large[0].shape.dimensions == (slow.LENGTH, slow.WIDTH)
assert "dynamic-update-slice" in describe_kernels(found)[-1][2]

# %% [markdown]
# ## Mend it { #mend }

# %% exercise="capstone/model"
exercise("capstone/model")

# %% [markdown]
# ## The difference { #difference }
#
# The reference solution beside the model as given, for a piece of the full length.
#
# **Predict.** Each layer is the same work as before.
# Which of these numbers fall, and which might rise: kernels in the program, kernels launched by a step, bytes, compiles?

# %%
import jax

from practice.solutions.capstone import model as mended

layers, held, position, piece = slow.EXAMPLE
stacked = jax.eval_shape(lambda layers: jax.tree.map(lambda *each: jax.numpy.stack(each), *layers), layers)
is_token = jax.ShapeDtypeStruct((slow.LONGEST, 1), bool)
after = capture(mended.step, stacked, held, position, piece, is_token)
with compiles() as again:
    mended.read(slow.make_layers(), [np.zeros((length, slow.WIDTH), np.float32) for length in lengths])

# %% open="Slow and mended"
difference = {
    "kernels in the program": (count_kernels(found), count_kernels(after)),
    "kernels launched by a step": (count_launches(found), count_launches(after)),
    "bytes read and written by a step": (bytes_moved(found), bytes_moved(after)),
    "bytes of new memory for its result": tuple(c.memory.outputs - c.memory.aliased for c in (found, after)),
    "compiles for six pieces": (len(of_step), sum("compiled step" in line for line in again)),
}
table(["what", "slow", "mended"], [(name, *counts) for name, counts in difference.items()])

# %% [markdown]
# The program shrank, and no longer grows with the number of layers.
# Six pieces take one compile, no new memory is taken, and fewer bytes move although short pieces are filled up.
# The maximum, the difference and the exponential now run in the kernel of the matmul before them: the library takes them along.
#
# One number rose: launches.
# A loop has to fetch the weights of its layer out of the stack and count its rounds, which a program written out need not.
# That is the price of a program of constant size; with layers as small as these it can be the wrong bargain, and `scan(..., unroll=2)` lies in between.

# %% check="Everything falls but the launches of a step; four causes, one loop for any number of layers, one compile, no new memory."
fell = {name: counts[1] < counts[0] for name, counts in difference.items()}
assert fell.pop("kernels launched by a step") is False
assert all(fell.values())
assert list(fell.values()) == [True] * 4
assert difference["compiles for six pieces"][1] == 1
assert difference["bytes of new memory for its result"][1] == 0
assert len(lengths) == 6
stacked_deeper = jax.tree.map(
    lambda each: jax.ShapeDtypeStruct((2 * slow.LAYERS, *each.shape[1:]), each.dtype), stacked
)
sizes = [
    mended.step.lower(each, held, position, piece, is_token).as_text().count("\n") for each in (stacked, stacked_deeper)
]
assert sizes[0] == sizes[1]
assert after.module.opcode_counts()["while"] == 1
rounds = [computes for _, _, computes in describe_kernels(after)]
assert {"dynamic-slice", "add"} <= set(rounds)
assert [each for each in rounds if "dot" in each] == ["dot, reduce, broadcast, subtract, exponential", "dot"]

# %% [markdown]
# ## A model without a list { #diagnose }
#
# Of the second model there are no exhibits.
# It has some of eight faults and not the others: read its dump, write down which, and which line proves each.
# Only what you prove counts, and only then is your cure judged.

# %% exercise="capstone/diagnose"
exercise("capstone/diagnose")

# %% [markdown]
# ## What you can do now { #done }
#
# You can diagnose a program without running it: count what is compiled, read what is launched, find what is copied, and say which line of Python is to blame.
# [The explorer](../pipeline.md#passes) does the same for a program of yours, pass by pass: `uv run xla-inspect report FILE.py:FUNCTION`.
#
# ## References { #references }
#
# * [JAX: just-in-time compilation, caching and donated buffers](https://docs.jax.dev/en/latest/201/jit.html)
# * [JAX: `scan`, a loop in the program](https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html)
# * [XLA: aliasing of arguments and results](https://openxla.org/xla/aliasing)
# * [XLA: operation semantics](https://openxla.org/xla/operation_semantics)
