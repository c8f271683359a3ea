# %% [markdown]
# ---
# description: Ten programs to better, scored by the compiler in kernels, bytes, memory, operations or exchanged bytes, with the best known and the bound.
# minutes: 90
# ---
# # Puzzles
#
# Write a program so that the compiler makes less of it, and let the compiler tell your score.
#
# Each of these ten programs is right, and costs more than it needs to.
# The score is never a time: it counts kernels, bytes that kernels read and write, memory beside arguments and result, operations, or bytes that devices send.
# A program counts when it gives the numbers of the start for several random inputs, and it is right with the best score that is known, or next to it.
#
# ```sh
# uv run python -m xla_inspect.main --check puzzles/softmax
# uv run python -m xla_inspect.main --watch puzzles
# ```

# %%
from xla_inspect.practice import PUZZLES, exercise, list_scores, score_table

# %% check="There are ten puzzles, scored by five measures, and none by a time."
assert len(PUZZLES) == 10
assert {puzzle.measure.words for puzzle in PUZZLES.values()} == {
    "kernels",
    "read and written",
    "beside arguments and result",
    "operations",
    "sent by each device",
}

# %% [markdown]
# ## The scores { #scores }
#
# Each score is compiled while this page is built: the start as it is given, the best known as the stored solution has it.
# The bound is worked out from sizes, and no program can be below it.
# In bold stands the target that a puzzle is marked on; where its compiler is missing, the CPU marks it.

# %% open="Start, best known and bound"
scores = list_scores()
score_table(scores)

# %% check="Each start is worse than the best known where it is marked, and no best known is below its bound."
for name, puzzle in PUZZLES.items():
    marked = [row for row in scores if row.name == name and row.target == puzzle.choose_target()]
    assert [row.best < row.start for row in marked] == [True]
    assert all(row.bound is None or row.bound <= row.best for row in scores if row.name == name)

# %% [markdown]
# ## Kernels { #kernels }

# %% exercise="puzzles/softmax"
exercise("puzzles/softmax")

# %% [markdown]
# ## Bytes { #bytes }

# %% exercise="puzzles/history"
exercise("puzzles/history")

# %% exercise="puzzles/layer_norm"
exercise("puzzles/layer_norm")

# %% exercise="puzzles/narrow"
exercise("puzzles/narrow")

# %% exercise="puzzles/cache"
exercise("puzzles/cache")

# %% [markdown]
# ## Memory { #memory }

# %% exercise="puzzles/attention"
exercise("puzzles/attention")

# %% exercise="puzzles/remat"
exercise("puzzles/remat")

# %% [markdown]
# ## Operations { #operations }

# %% exercise="puzzles/embedding"
exercise("puzzles/embedding")

# %% exercise="puzzles/hoist"
exercise("puzzles/hoist")

# %% [markdown]
# ## Exchanged bytes { #exchanged }

# %% exercise="puzzles/sharded"
exercise("puzzles/sharded")

# %% [markdown]
# ## References { #references }
#
# * [JAX: rematerialization](https://docs.jax.dev/en/latest/301/remat.html)
# * [JAX: sharded computation](https://docs.jax.dev/en/latest/201/sharding.html)
# * [XLA: operation semantics](https://openxla.org/xla/operation_semantics)
#
# ## Next { #next }
#
# [The capstone](capstone.py) hands you two models, and says nothing of what is wrong with the second.
