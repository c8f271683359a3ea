"""Checks of the exercises on HLO."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect.analysis import list_fusions, list_launches
from xla_inspect.compilation import capture
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.practice.marking.submission import Submission

SMALL = 64
"""The maximum bytes of a constant that counts as a number of the program and not as a table."""


def check_read_dump(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on the reader's answers about a dump, compared with the dump of the file's program."""
    module = capture(submission.given.program, *submission.given.EXAMPLE).module
    note = submission.say_changed("program")
    launched = [module.entry.by_name[fusion.name] for fusion in list_fusions(module, entry_only=True)]
    yield submission.judge(
        "FUSIONS",
        len(launched),
        f"`ENTRY` launches {plural(len(launched), 'fusion')}",
        f"Each line of `ENTRY` with `fusion(` counts, whatever its name is.{note}",
        check_helpers.lines([instruction for instruction in module.entry if instruction.opcode != "parameter"]),
    )
    first, *_, last = (
        instruction
        for instruction in module.entry
        if instruction.shape.is_array and instruction.shape.dimensions == (256, 128)
    )
    yield submission.judge(
        "LAYOUT",
        _layout(first),
        f"the transposed matrix is first computed with the layout {_layout(first)}, without moving any element",
        f"This is the first line of `ENTRY` that computes f32[256,128].{note}",
        check_helpers.lines([first]),
    )
    yield submission.judge(
        "RELAYOUT",
        last.name,
        f"`{last.name}` copies it into the layout {_layout(last)}, which is the cost of the transpose",
        f"Two lines of `ENTRY` compute f32[256,128]; the second reads the first and changes only the layout.{note}",
        check_helpers.lines(
            [instruction for instruction in module.entry if instruction.opcode in {"fusion", "copy", "transpose"}]
        ),
    )
    # Each fusion has its own copy of a constant, so the same number occurs in several computations.
    halves = [instruction for instruction in check_helpers.find_all(module, "constant") if instruction.literal == "0.5"]
    places = dict.fromkeys(instruction.computation for instruction in halves)
    yield submission.judge(
        "HALVES",
        len(places),
        f"{plural(len(places), 'computation contains', 'computations contain')} `constant(0.5)`, because both fusions "
        "that need the scaled matmul compute it",
        f"These are all lines of the dump with `constant(0.5)`, each after the name of its computation.{note}",
        check_helpers.place_lines(halves),
    )


def _layout(instruction: Instruction) -> tuple[int, ...]:
    layout = instruction.shape.layout
    return tuple(layout.minor_to_major) if layout is not None else ()


def check_one_fusion(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `alternate`: right numbers from a single launch, which is a fusion."""
    alternate, where = submission.function("alternate"), submission.locate("alternate")
    for seed, (words, scale) in enumerate(check_helpers.SCALES.items()):
        x, w = check_helpers.random(4096, seed=seed, scale=scale), np.float32((1.5, -0.3)[seed % 2])
        expected = np.where(np.arange(4096) % 2 == 0, x * w, np.tanh(x))
        check_helpers.expect(alternate, (x, w), expected, f"{where}, for {words}")
    yield good(f"the numbers are right for {len(check_helpers.SCALES)} inputs")
    compilation = capture(alternate, *check_helpers.shapes(x, w))
    fusions = list_fusions(compilation.module)
    kernels = check_helpers.kernel_lines(compilation)
    launched = check_helpers.lines(launch.instruction for launch in list_launches(compilation))
    yield judge(
        len(launched) == 1 and len(fusions) == 1,
        f"the program launches one kernel, a fusion of {len(fusions[0].opcodes) if fusions else 0} operations",
        f"{where}: the program launches {plural(len(kernels), 'kernel')} instead of one fusion."
        f"{_blame(compilation.module)} These are the launches of `ENTRY`:",
        launched,
        "hlo",
    )


def _blame(module: Module) -> str:
    """Return a sentence about the instructions that prevent a program from being one fusion, or an empty string."""
    opcodes = module.opcode_counts()
    reasons = {
        "scatter": "a `scatter`, which an update at computed positions becomes, is not fused with anything",
        "while": "a loop launches the kernels of its body in each iteration",
        "sort": "a `sort` needs all elements before it returns any",
        "opt-barrier": "an `opt-barrier` separates its operands from other operations",
    }
    causes = [text for opcode, text in reasons.items() if opcodes[opcode]]
    return f" The reason: {'; '.join(causes)}." if causes else ""


def check_constants(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `lookup`: right numbers, no constant of more than `SMALL` bytes, and the table a parameter."""
    lookup, where = submission.function("lookup"), submission.locate("lookup")
    table = np.sin(np.arange(512 * 64, dtype=np.float32)).reshape(512, 64)
    ids = np.arange(32, dtype=np.int32) * 7
    check_helpers.expect(lookup, (table, ids), table[ids] * 8, where)
    yield good("the numbers are right for the table of the file")
    compilation = capture(lookup, *check_helpers.shapes(table, ids))
    constants = check_helpers.find_all(compilation.module, "constant")
    large = [instruction for instruction in constants if instruction.shape.bytes > SMALL]
    size = sum(instruction.shape.bytes for instruction in large)
    yield judge(
        not large,
        f"the program has no constant of more than {SMALL} bytes",
        f"{where}: the compiled program contains {size:,} bytes of constants; every array that `lookup` reads from the "
        "file and not from its arguments becomes one",
        check_helpers.lines(large),
        "hlo",
    )
    parameters = compilation.module.entry.parameters
    yield judge(
        any(instruction.shape.dimensions == (512, 64) for instruction in parameters),
        f"the table is a parameter: {compilation.memory.arguments:,} bytes of arguments",
        f"{where}: the table is not one of the compiled program's parameters, which are",
        check_helpers.lines(parameters),
        "hlo",
    )
    if large:
        return
    # A function that ignores its argument and reads the file's table would give the same numbers for both tables.
    other = jax.jit(lookup)(table[::-1].copy(), ids)
    check_helpers.expect_numbers(other, table[::-1][ids] * 8, f"{where}, with another table")
    yield good("another table gives other numbers")
    ends = np.array([511, 0, 511, *range(29, 0, -1)], np.int32)
    check_helpers.expect_numbers(jax.jit(lookup)(table, ends), table[ends] * 8, f"{where}, with other ids")
    yield good("other ids give other rows")


def check_donate(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `update`: right numbers, its two results in the buffers of two arguments, and no other donation.

    Raises:
        WrongError: The function is not jitted, or its results are wrong.
    """
    update, where = submission.function("update"), submission.locate("update")
    params, momentum, gradient = (check_helpers.random(512, 64, seed=seed) for seed in range(3))
    example = check_helpers.shapes(params, momentum, gradient)
    result = jax.ShapeDtypeStruct((512, 64), np.float32)
    check_helpers.expect_shapes(update, example, (result, result), where)
    # Only the result of `jax.jit` has a method `lower`, so this recognizes a jitted function without calling it.
    if not hasattr(update, "lower"):
        raise WrongError(bad(f"{where}: the function is not jitted, and only a compiled program can reuse a buffer"))
    with warnings.catch_warnings():
        # The remarks below report the same problem as JAX's warning, from the text of the module.
        warnings.simplefilter("ignore")
        for words, scale in check_helpers.SCALES.items():
            old, before, slope = (np.float32(scale) * array for array in (params, momentum, gradient))
            moved = 0.9 * before + slope
            arguments = (jnp.asarray(old), jnp.asarray(before), jnp.asarray(slope))
            check_helpers.expect_numbers(update(*arguments), (old - 0.1 * moved, moved), f"{where}, for {words}")
        yield good(f"the numbers are right for {len(check_helpers.SCALES)} inputs")
        compilation = capture(update, *example)
    # A module with one result that is not a tuple has an empty index for it.
    aliases = {next(iter(output), 0): argument for output, argument in compilation.module.aliases.items()}
    names = ("params", "momentum", "gradient")
    header_parts = check_helpers.read_header(compilation, "HloModule", "input_output", "entry")
    for output, name in enumerate(("params", "momentum")):
        source = aliases.get(output)
        fate = "has a new buffer" if source is None else f"uses the buffer of `{names[source]}`"
        yield judge(
            source == output,
            f"result {output} is written into the buffer of `{name}`",
            f"{where}: result {output}, the new {name}, {fate}; it should use the buffer of the old {name}. The module "
            "begins",
            header_parts,
            "hlo",
        )
    # Without any alias the remarks above already explain the problem, and the gradient would add nothing.
    if not aliases:
        return
    yield judge(
        not _donates(update, example)[names.index("gradient")],
        f"{compilation.memory.aliased:,} of {compilation.memory.outputs:,} bytes of results need no new memory, and "
        "the gradient is not donated",
        f"{where}: the gradient is donated too, but the caller still needs it: the compiler is free to write something "
        "into its buffer",
        header_parts,
        "hlo",
    )


def _donates(update: Any, example: tuple[Any, ...]) -> list[bool]:  # noqa: ANN401 - what `jax.jit` returns
    """Return for each argument whether it is donated, even if no result can use its buffer."""
    return [argument.donated for argument in jax.tree.leaves(update.lower(*example).args_info)]
