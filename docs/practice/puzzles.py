# %% [markdown]
# ---
# description: Ten programs to improve, scored by the compiler in kernels, bytes, memory, operations or exchanged bytes, with the best known score and the bound.
# minutes: 90
# ---
# # Puzzles with a score
#
# Rewrite a program so that it compiles to less work, and let the compiler compute your score.
#
# Each of these ten programs is correct but costs more than necessary.
# The score is never a time.
# It counts kernels, bytes that kernels read and write, temporary memory, operations, or bytes that devices send.
# Your function `better` must return the same numbers as `start`, within the puzzle's tolerance, for random inputs of several magnitudes, for zeros, and in some puzzles for inputs whose mean is far from zero.
# If an argument contains indices, the check also uses the indices of the first and the last row.
# Your function passes if its score equals the best known score or is close to it.
#
# ```sh
# uv run python -m xla_inspect.main --check puzzles/softmax
# uv run python -m xla_inspect.main --watch puzzles
# ```

# %%
from xla_inspect.practice import PUZZLES, exercise, list_scores, score_table

# %% check="There are ten puzzles, scored by five measures, none of which is a time."
assert len(PUZZLES) == 10
assert {puzzle.measure.words for puzzle in PUZZLES.values()} == {
    "kernels",
    "read and written",
    "of temporary memory",
    "operations",
    "sent by each device",
}

# %% [markdown]
# ## The scores { #scores }
#
# The build of this page compiles the start and the stored solution, which has the best known score.
# The bound is computed from sizes, and no program can have a lower score.
# The target on which a puzzle is marked is in bold.
# If its compiler is missing, the puzzle is marked on the CPU.

# %% open="Start, best known score and bound"
scores = list_scores()
score_table(scores)

# %% check="Each start is worse than the best known score on its target, and no best known score is below its bound."
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
# [The capstone](capstone.py) gives you two models to fix, and no hint about the faults of the second one.
