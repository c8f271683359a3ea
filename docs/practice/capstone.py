# %% [markdown]
# ---
# description: A slow model and its dump, four causes to find in it, and the difference that mending them makes in kernels, bytes and compiles.
# minutes: 25
# ---
# # Capstone
#
# A model reads a text piece by piece, and is slow for four reasons.
# All four can be seen in what the compiler says, and none of them takes a stopwatch: find them, then mend them.
#
# It lies in `snippets/practice/capstone/slow.py`, and these are its three functions.

# %% quiet="the source of the model"
import inspect

from xla_inspect.practice.notebook import listing

from practice.capstone import slow

listing("\n\n".join(inspect.getsource(each) for each in (slow.apply, slow.step, slow.read)), "python")

# %%
import numpy as np

from xla_inspect import capture
from xla_inspect.practice.checking.measures import bytes_moved, compiles, count_launches
from xla_inspect.practice.notebook import exercise, table
from xla_inspect.practice.tables import list_kernels
from xla_inspect.report.listing import print_instruction

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

# %% [markdown]
# ### What it launches { #launches }

# %%
found = capture(slow.step, *slow.EXAMPLE)
print(count_launches(found), "kernels a step; the first of them:")
table(["kernel", "kind", "what it computes"], list_kernels(found)[:9])

# %% [markdown] fold="What is wrong"
# The same few kernels come again and again, once for each layer: Python ran the loop while JAX traced, and wrote every round into the program.
# Twice as many layers would make a program twice as long, and compiling it would take twice the time.

# %% [markdown]
# ### What a product reads { #product }
#
# The first products of the module, with the dimensions that they contract.

# %%
dots = [each for each in found.module.walk() if each.opcode == "dot"]
listing("\n".join(print_instruction(each) for each in dots[:2]))

# %% [markdown] fold="What is wrong"
# `lhs_contracting_dims={0}` contracts the *first* dimension of the left operand: the product reads a transposed matrix.
# The scores come out with a column for each token, the maximum and the sum run down columns, and the library that takes the product can take none of that along.

# %% [markdown]
# ### What it copies { #copies }
#
# The first line of the module, and the instructions of `ENTRY` whose result is as large as the memory.

# %%
memory = found.module.entry.root.shape
listing(
    "\n".join(
        [
            found.after.partition(", ")[0] + (", input_output_alias=..." if found.module.input_output_alias else ""),
            *(print_instruction(each) for each in found.module.entry if each.shape.bytes == memory.bytes),
        ]
    )
)

# %% [markdown] fold="What is wrong"
# No `input_output_alias` stands in the first line: no argument gives its memory to a result.
# The caller might still need the old memory, so the whole of it is copied before a few rows are written.

# %% [markdown]
# ## Mend it { #mend }

# %% exercise="capstone/model"
exercise("capstone/model")

# %% [markdown]
# ## The difference { #difference }
#
# The reference solution against the slow model, for a piece of the full length.
#
# **Predict.** Which of the three numbers fell the most?

# %% open="Slow and mended"
import jax

from practice.solutions.capstone import model as mended

layers, held, position, piece = slow.EXAMPLE
stacked = jax.eval_shape(lambda layers: jax.tree.map(lambda *each: jax.numpy.stack(each), *layers), layers)
after = capture(mended.step, stacked, held, position, piece, slow.LONGEST)
with compiles() as again:
    mended.read(slow.make_layers(), [np.zeros((length, slow.WIDTH), np.float32) for length in lengths])
table(
    ["of a step", "slow", "mended"],
    [
        ("lines of the module", len(found.after.splitlines()), len(after.after.splitlines())),
        ("kernels launched", count_launches(found), count_launches(after)),
        ("bytes read and written", bytes_moved(found), bytes_moved(after)),
        ("compiles for six pieces", len(of_step), sum("compiled step" in line for line in again)),
    ],
)

# %% [markdown]
# ## What you can do now { #done }
#
# You can take a program apart without running it: count what is compiled, read what is launched, find what is copied, and say which line of Python is to blame.
# [The explorer](../pipeline.md#passes) does the same for a program of yours, pass by pass: `uv run xla-inspect report FILE.py:FUNCTION`.
