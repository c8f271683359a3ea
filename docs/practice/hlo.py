# %% [markdown]
# ---
# description: Twenty-five minutes of reading HLO, its lines, fusions, layouts and constants, compared with the jaxpr and in the files that the compiler dumps.
# minutes: 25
# ---
# # Dump and read HLO
#
# From the first pass to the last, the compiler represents your program in *HLO* (high-level operations), and it can print it at any point.
# Here you dump the HLO and read it, find its fusions, layouts and constants, and compare it with the jaxpr.
# [Reading HLO](../reading-hlo.md) explains every part of a line.

# %%
import inspect
import re

from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.practice import jaxpr_to_hlo
from xla_inspect.practice import Equations
from xla_inspect.practice import PARAMS, X, classify, shape
from xla_inspect.practice import across, entries, exercise, listing, references, table
from xla_inspect.practice import describe_kernels, list_constants, list_layouts
from xla_inspect.report import print_computation
from xla_inspect.report import title

# %% [markdown]
# ## Get a dump { #dump }
#
# JAX alone can show the HLO of any program: `jax.jit(f).lower(*args).compile().as_text()`.
# If `XLA_FLAGS` asks for it, the compiler also writes every stage into a folder.
# One command does both for you:
#
# ```sh
# uv run python -m xla_inspect.hlo_dump --to dump
# ```
#
# It also explains each file in `dump`.
# In a notebook, `capture` returns the same stages as Python objects.

# %%
found = capture(classify, PARAMS, X)
listing(print_computation(found.unoptimized_module.entry))

# %% check="JAX returns the text that the capture contains, and the compiler prints HLO after each pass."
import jax

given = jax.jit(classify).lower(PARAMS, X).compile().as_text()
assert given.startswith("HloModule jit_classify")
assert re.findall(r" (\w+)\(", given) == re.findall(r" (\w+)\(", found.after)
assert len(found.passes) > 1
assert all(step.text.startswith("HloModule jit_classify") for step in found.passes)

# %% [markdown]
# This is the module before the first pass.
# `classify` scales pixels to the range from `-1` to `1` and passes them to the model: `mlp(params, (pixels - 127.5) / 127.5)`.
#
# ## Read a line { #line }
#
# Every line has the same form:
#
# ```text
# %name = type[shape]{layout} opcode(%operands), attributes
# ```
#
# * `ROOT` marks the result of a computation, and `ENTRY` marks the computation that runs first.
# * `parameter(4)` is the fifth argument: parameters are numbered in the order of the arguments' leaves.
# * Attributes specify the rest of the operation: those of `dot` list the dimensions that it contracts.
#
# **Predict.** The compiler may make any change that keeps the numbers right.
# Which of these lines remain?

# %% open="ENTRY after optimization"
listing(print_computation(found.module.entry))

# %% check="There is one ROOT, parameters are numbered from zero in the order of the leaves, and each matmul lists its contracted dimensions."
text = print_computation(found.unoptimized_module.entry)
assert (text.count("ROOT "), text.count("ENTRY ")) == (1, 1)
assert text.rstrip("}\n ").splitlines()[-1].strip().startswith("ROOT ")
leaves = [*PARAMS, X]
assert len(leaves) == 5
taken = {each.parameter_number: each.shape for each in found.unoptimized_module.entry if each.opcode == "parameter"}
assert [taken[number].dimensions for number in range(5)] == [leaf.shape for leaf in leaves]
matmuls = [line for line in text.splitlines() if " dot(" in line]
assert len(matmuls) == 2
assert all("lhs_contracting_dims={1}, rhs_contracting_dims={0}" in line for line in matmuls)

# %% [markdown]
# ## Find the fusions { #fusions }
#
# A *fusion* is one kernel that computes several operations without writing intermediate results to memory.
# Its line contains `fusion(...)`, its kind, and the computation that it `calls`.
#
# **Predict.** Which operations are fused together?

# %% open="The kernels in order, and the operations of each"
table(["kernel", "kind", "what it computes"], describe_kernels(found))

# %% [markdown]
# The CPU's compiler passes each matmul to a library, as a fusion of [kind](../fusion.md#kinds) `kCustom`.
# The operations before the first matmul, between the two and after the second became three loops, each of kind `kLoop`.
# The loop between the matmuls computes a bias, its broadcast and a relu in one pass over memory.

# %% check="On the CPU, each matmul is a kCustom fusion, and every other kernel is a loop."
kinds = [kind.split()[0] for _, kind, _ in describe_kernels(found)]
assert kinds == ["kLoop", "kCustom", "kLoop", "kCustom", "kLoop"]
assert [text for _, kind, text in describe_kernels(found) if kind.startswith("kCustom")] == ["dot", "dot"]
assert {kind for _, kind, text in describe_kernels(found) if text == "dot"} == {"kCustom __ynn_fusion"}
assert describe_kernels(found)[2][2] == "2 broadcast, add, maximum"

# %% [markdown]
# The other compilers divide the program differently.
#
# **Predict.** Do an H100 and a TPU need more kernels than the CPU, or fewer?

# %% open="Kernels on three targets"
targets = capture_all(classify, PARAMS, X)
across(targets, lambda one: len(list_kernels(one)), "kernels")

# %% check="The H100 needs fewer kernels than the CPU, and the TPU needs one."
if set(targets) >= {"h100", "tpu-v5e"}:
    assert (
        len(list_kernels(targets["cpu"]))
        > len(list_kernels(targets["h100"]))
        > len(list_kernels(targets["tpu-v5e"]))
        == 1
    )

# %% [markdown]
# ## Find the layouts { #layouts }
#
# Every shape is followed by its layout: `{1,0}` means that the elements along the last dimension are adjacent in memory.
# The compiler chooses the layout of every array that is neither an argument nor a result of the program.
#
# **Predict.** `turned` returns the transpose of a matmul.
# A transposition can move every element, or only read the same memory in another order.
# Which do the three compilers choose?

# %% open="ENTRY on three targets"
import jax.numpy as jnp


def turned(x, w):
    return jnp.tanh(x @ w).T


entries(capture_all(turned, shape(128, 64), shape(64, 256)))

# %% [markdown]
# Compare the layout of the matmul with the layout of the result.
# The CPU's library writes the matmul as `{1,0}`, so the last kernel has to move the elements while it computes the hyperbolic tangent.
# The H100 writes the matmul directly with the layout `{0,1}`, and a `bitcast` turns it into the transpose: another type for the same bytes, at no cost.
# The TPU's kernel writes the transpose itself, and the TPU's layouts also contain tiles, `T(8,128)`.

# %% check="The CPU transposes in its last kernel and the H100 by a bitcast; the TPU's only kernel writes the transpose in tiles."
found_turned = capture_all(turned, shape(128, 64), shape(64, 256))
assert {"tanh", "transpose"} <= set(describe_kernels(found_turned["cpu"])[-1][2].split(", "))
assert [layout for _, _, layout in list_layouts(found_turned["cpu"])] == ["{1,0}"] * 4
if "h100" in found_turned:
    assert found_turned["h100"].module.entry.root.opcode == "bitcast"
    assert [layout for _, _, layout in list_layouts(found_turned["h100"])][-2:] == ["{0,1}", "{1,0}"]
if "tpu-v5e" in found_turned:
    assert len(list_kernels(found_turned["tpu-v5e"])) == 1
    root = found_turned["tpu-v5e"].module.entry.root
    assert (root.opcode, root.shape.dimensions) == ("fusion", (256, 128))
    assert "transpose" not in found_turned["tpu-v5e"].module.opcode_counts()
    assert all("T(8,128)" in layout for _, _, layout in list_layouts(found_turned["tpu-v5e"]))

# %% [markdown]
# ## Find the constants { #constants }
#
# The Python code contains `127.5` twice, in a subtraction and in a division.
#
# **Predict.** Which constants does the optimized module contain?

# %% open="The constants, before and after"
constants = {"before": list_constants(found.unoptimized_module), "after": list_constants(found.module)}
table(["module", "value", "shape", "where"], [(name, *row) for name, rows in constants.items() for row in rows])

# %% [markdown]
# The subtraction became an addition of the negative number, and the division became a multiplication by the reciprocal, which the compiler computed.
# Each constant moved into the fusion that needs it, where it costs nothing, because it is a scalar in a register and not an array in memory.

# %% check="Afterwards, all constants are in fusions, one of them is negative, and one is a reciprocal."
assert inspect.getsource(classify).count("127.5") == 2
assert [value for value, _, _ in constants["before"]] == ["127.5", "0"]
assert {kind for _, kind, _ in constants["after"]} == {"f32[]"}
assert all(where.startswith("inside") for _, _, where in constants["after"])
assert {value for value, _, _ in constants["after"]} == {"0", "-127.5", "0.00784313772"}
assert abs(1 / 127.5 - 0.00784313772) < 1e-9

# %% [markdown]
# ## The jaxpr compared with its HLO { #jaxpr }
#
# JAX stores the primitive of each equation and its line of Python in the metadata of the instructions, and the compiler preserves both where it can.
# So you can look up the instructions of each equation in [the jaxpr](jaxpr.py).
#
# **Predict.** Which of these operations needs one instruction of HLO, and which needs several: subtraction, division, matmul, addition, maximum?

# %% open="Each equation and its instructions"
equations = Equations(classify, PARAMS, X)
equations.name_inputs("params", "pixels")
table(["equation", "HLO before", "HLO after, and in which kernel"], jaxpr_to_hlo.rows(found, equations))

# %% [markdown]
# An equation becomes one instruction if its operands have equal shapes.
# A jaxpr can add a row to a matrix.
# HLO adds only arrays of the same shape, so the row is repeated first, which takes three more instructions for each addition.
# A number in an equation becomes a constant, which is repeated in the same way.
#
# Afterwards, some operations have changed: the subtraction is an addition, and the division is a multiplication.
# `broadcast_in_dim` is removed completely, because a row is equivalent to a matrix with one row.
#
# **Predict.** Which of the three texts shows how a value is stored in memory, and which shows the operations that run as one kernel?

# %% open="The contents of each stage"
table(["what it has", "jaxpr", "HLO before", "HLO after"], jaxpr_to_hlo.count_by_stage(found, equations))

# %% [markdown]
# A jaxpr describes a computation for any machine.
# HLO has a layout for every array from the start, but only the final HLO shows which operations run together.

# %% check="Each addition takes four instructions; the subtraction becomes an addition and the division a multiplication; only the final module has kernels."
came = {row.equation: [each.opcode for each in row.before] for row in jaxpr_to_hlo.set_beside(found, equations)}
sums = [opcodes for equation, opcodes in came.items() if " = add " in equation]
assert sums == [["broadcast", "reshape", "broadcast", "add"]] * 2
assert {
    len(opcodes)
    for equation, opcodes in came.items()
    if re.search(" = (sub|div|dot_general|broadcast_in_dim) ", equation)
} == {1}
assert [opcodes for equation, opcodes in came.items() if " = max " in equation] == [["broadcast", "maximum"]]
assert all(each.shape.layout for each in found.unoptimized_module.entry if each.shape.dimensions)
assert 'op_name="jit(classify)/sub" stack_frame_id=' in found.before
assert re.search(r' add\(.* metadata=\{op_name="jit\(classify\)/sub" stack_frame_id=', found.after)
entry = found.unoptimized_module.entry
numbers = [each.name for each in entry if each.opcode == "constant"]
assert {user.opcode for name in numbers for user in entry.users(name)} == {"broadcast"}
after = {equation: text for equation, _, text in jaxpr_to_hlo.rows(found, equations)}
assert after["r1 = sub pixels, 127.5"].startswith("add in ")
assert after["r2 = div r1, 127.5"].startswith("multiply in ")
assert {text for equation, text in after.items() if " = broadcast_in_dim " in equation} == {"nothing"}
held = {name: counts for name, *counts in jaxpr_to_hlo.count_by_stage(found, equations)}
assert held["arrays with a layout"][0] == 0 < min(held["arrays with a layout"][1:])
assert held["kernels"] == [0, 0, len(list_kernels(found))]

# %% [markdown]
# The other compilers get the same instructions.
#
# **Predict.** In which kernels do these equations run on the H100 and on the TPU?

# %% open="The same equations on the H100 and the TPU"
rows = {title(name): jaxpr_to_hlo.rows(one, equations) for name, one in targets.items() if name in {"h100", "tpu-v5e"}}
table(
    ["compiled for", "equation", "HLO after, and in which kernel"],
    [(name, row[0], row[2]) for name, each in rows.items() for row in each],
)

# %% check="The equations run in two kernels on the H100, and in one on the TPU, where a matmul is a convolution."
if set(targets) >= {"h100", "tpu-v5e"}:
    ended = {
        name: {text.rpartition(" in ")[2] for _, _, text in each[:-1]} - {"nothing"} for name, each in rows.items()
    }
    assert [len(ended[title(name)]) for name in ("h100", "tpu-v5e")] == [2, 1]
    assert rows[title("tpu-v5e")][2][2].startswith("convolution in ")
    assert [[row[:2] for row in each] for each in rows.values()] == [
        [row[:2] for row in jaxpr_to_hlo.rows(found, equations)]
    ] * 2

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
# You have seen the module before and after optimization.
# [The next phase](optimization.py) shows the passes in between and the changes that each made.
