"""What the exercises on HLO are judged by."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect.analysis import list_fusions, list_launches
from xla_inspect.compilation import capture
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.practice.marking.submission import Submission

SMALL = 64
"""Bytes up to which a constant is one of the program's numbers, and no table."""


def check_read_dump(submission: Submission) -> Iterator[Remark]:
    """The answers that the dump of the file's own program gives."""
    module = capture(submission.given.program, *submission.given.EXAMPLE).module
    changed = submission.say_changed("program")
    launched = [module.entry.by_name[fusion.name] for fusion in list_fusions(module, entry_only=True)]
    yield submission.judge(
        "FUSIONS",
        len(launched),
        f"`ENTRY` launches {len(launched)} fusions",
        f"Each line of `ENTRY` with `fusion(` counts, whatever it is named after.{changed}",
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
        f"the transposed matrix is first made with the layout {_layout(first)}: nothing had to move",
        f"This is the first line of `ENTRY` that makes f32[256,128].{changed}",
        check_helpers.lines([first]),
    )
    yield submission.judge(
        "RELAYOUT",
        last.name,
        f"`{last.name}` brings it into the layout {_layout(last)}: this is the copy that the transpose costs",
        "Two lines of `ENTRY` make f32[256,128]; the second takes the first and changes nothing but the "
        f"layout.{changed}",
        check_helpers.lines(
            [instruction for instruction in module.entry if instruction.opcode in {"fusion", "copy", "transpose"}]
        ),
    )
    halves = [instruction for instruction in check_helpers.find_all(module, "constant") if instruction.literal == "0.5"]
    places = dict.fromkeys(instruction.computation for instruction in halves)
    yield submission.judge(
        "HALVES",
        len(places),
        f"`constant(0.5)` stands in {len(places)} computations: both fusions that need the matmul compute it",
        f"These are all lines of the dump with `constant(0.5)`, each after its computation.{changed}",
        check_helpers.place_lines(halves),
    )


def _layout(instruction: Instruction) -> tuple[int, ...]:
    layout = instruction.shape.layout
    return tuple(layout.minor_to_major) if layout is not None else ()


def check_one_fusion(submission: Submission) -> Iterator[Remark]:
    """One launch, and that a fusion."""
    alternate, where = submission.function("alternate"), submission.locate("alternate")
    for seed, w in enumerate((np.float32(1.5), np.float32(-0.3))):
        x = check_helpers.random(4096, seed=seed)
        check_helpers.expect(alternate, (x, w), np.where(np.arange(4096) % 2 == 0, x * w, np.tanh(x)), where)
    yield good("the numbers are right, for two inputs")
    compiled = capture(alternate, *check_helpers.shapes(x, w))
    fusions = list_fusions(compiled.module)
    kernels = check_helpers.kernel_lines(compiled)
    launched = check_helpers.lines(launch.instruction for launch in list_launches(compiled))
    yield judge(
        len(launched) == 1 and len(fusions) == 1,
        f"one kernel is launched, a fusion of {len(fusions[0].opcodes) if fusions else 0} operations",
        f"{where}: {len(kernels)} kernels are launched, and one fusion is asked for.{_blame(compiled.module)} `ENTRY` "
        "launches",
        launched,
        "hlo",
    )


def _blame(module: Module) -> str:
    """Return which instructions keep a program from being one fusion, as a sentence."""
    opcodes = module.opcode_counts()
    reasons = {
        "scatter": "a `scatter`, which is what an update at computed places becomes, fuses with nothing",
        "while": "a loop runs its body's kernels one after the other",
        "sort": "a `sort` needs all elements before it returns one",
        "opt-barrier": "an `opt-barrier` was asked for",
    }
    causes = [text for opcode, text in reasons.items() if opcodes[opcode]]
    return f" Here {'; '.join(causes)}." if causes else ""


def check_constants(submission: Submission) -> Iterator[Remark]:
    """No constant larger than a number, and the table among the parameters."""
    lookup, where = submission.function("lookup"), submission.locate("lookup")
    table = np.sin(np.arange(512 * 64, dtype=np.float32)).reshape(512, 64)
    ids = np.arange(32, dtype=np.int32) * 7
    check_helpers.expect(lookup, (table, ids), table[ids] * 8, where)
    yield good("the numbers are right for the table of the file")
    compiled = capture(lookup, *check_helpers.shapes(table, ids))
    constants = check_helpers.find_all(compiled.module, "constant")
    large = [instruction for instruction in constants if instruction.shape.bytes > SMALL]
    size = sum(instruction.shape.bytes for instruction in large)
    yield judge(
        not large,
        "no constant of the program is larger than a number",
        f"{where}: the compiled program carries {size:,} bytes of constants; whatever `lookup` reads from the file "
        "and not from its arguments is one",
        check_helpers.lines(large),
        "hlo",
    )
    parameters = compiled.module.entry.parameters
    yield judge(
        any(instruction.shape.dimensions == (512, 64) for instruction in parameters),
        f"the table is a parameter: {compiled.memory.arguments:,} bytes of arguments",
        f"{where}: the table is no parameter of the compiled program, whose parameters are",
        check_helpers.lines(parameters),
        "hlo",
    )
    if large:
        return
    other = jax.jit(lookup)(table[::-1].copy(), ids)
    check_helpers.expect_numbers(other, table[::-1][ids] * 8, f"{where}, with another table")
    yield good("another table gives other numbers")


def check_donate(submission: Submission) -> Iterator[Remark]:
    """Two results that lie where the two arguments lay."""
    update, where = submission.function("update"), submission.locate("update")
    params, momentum, gradient = (check_helpers.random(512, 64, seed=seed) for seed in range(3))
    example = check_helpers.shapes(params, momentum, gradient)
    result = jax.ShapeDtypeStruct((512, 64), np.float32)
    check_helpers.expect_shapes(update, example, (result, result), where)
    if not hasattr(update, "lower"):
        raise WrongError(
            bad(f"{where}: the function is not jitted, and only a compiled program can take over a buffer")
        )
    with warnings.catch_warnings():
        # What JAX would warn of is told below, by what the module says.
        warnings.simplefilter("ignore")
        moved = 0.9 * momentum + gradient
        arguments = (jnp.asarray(params), jnp.asarray(momentum), jnp.asarray(gradient))
        check_helpers.expect_numbers(update(*arguments), (params - 0.1 * moved, moved), where)
        yield good("the numbers are right")
        compiled = capture(update, *example)
    aliases = {next(iter(output), 0): argument for output, argument in compiled.module.aliases.items()}
    names = ("params", "momentum", "gradient")
    header_parts = check_helpers.read_header(compiled, "HloModule", "input_output", "entry")
    for output, name in enumerate(("params", "momentum")):
        taken = aliases.get(output)
        fate = "has a buffer of its own" if taken is None else f"is written over `{names[taken]}`"
        yield judge(
            taken == output,
            f"result {output} is written where `{name}` lay",
            f"{where}: result {output}, the new {name}, {fate}; it should lie where the old {name} lay. The module "
            "begins",
            header_parts,
            "hlo",
        )
    if not aliases:
        return
    yield judge(
        not _donates(update, example)[names.index("gradient")],
        f"{compiled.memory.aliased:,} of {compiled.memory.outputs:,} bytes of results take no new memory, and the "
        "gradient is kept",
        f"{where}: the gradient is given away too, and the caller still needs it: whether something is written over it "
        "is up to the compiler",
        header_parts,
        "hlo",
    )


def _donates(update: Any, example: tuple[Any, ...]) -> list[bool]:  # noqa: ANN401 - what `jax.jit` returns
    """Return whether a function gives each argument away, by position, also where no result could take its buffer."""
    return [argument.donated for argument in jax.tree.leaves(update.lower(*example).args_info)]
