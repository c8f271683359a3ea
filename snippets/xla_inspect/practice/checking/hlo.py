"""What the exercises on HLO are judged by."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect import capture
from xla_inspect.hlo.fusions import list_fusions
from xla_inspect.practice.checking import measures
from xla_inspect.practice.checking.finding import Finding, WrongError, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo.module import Instruction, Module
    from xla_inspect.practice.checking.written import Written

SMALL = 64
"""Bytes up to which a constant is one of the program's numbers, and no table."""

_ALIAS = re.compile(r"\{(\d*)\}: \((\d+), \{\}")


def check_read_dump(written: Written) -> Iterator[Finding]:
    """The answers that the dump of the file's own program gives."""
    program = written.function("program")
    module = capture(program, *written.example).module
    fusions, layout, relayout, halves = (
        written.answer(name, kind)
        for name, kind in (("FUSIONS", int), ("LAYOUT", tuple), ("RELAYOUT", str), ("HALVES", int))
    )
    launched = [module.entry.by_name[each.name] for each in list_fusions(module, entry_only=True)]
    yield judge(
        fusions == len(launched),
        f"`ENTRY` launches {fusions} fusions",
        f"{written.locate('FUSIONS')}: not {fusions}. Each line of `ENTRY` with `fusion(` counts, whatever it is "
        "named after",
        measures.lines([each for each in module.entry if each.opcode != "parameter"]),
        "hlo",
    )
    matrix = [each for each in module.entry if each.shape.is_array and each.shape.dimensions == (256, 128)]
    if not matrix:
        raise WrongError(bad(f"{written.where}: `program` returns no f32[256,128] any more; leave it as it was given"))
    first, last = matrix[0], matrix[-1]
    yield judge(
        layout == _layout(first),
        f"the transposed matrix is first made with the layout {layout}: nothing had to move",
        f"{written.locate('LAYOUT')}: not {layout}. The first line of `ENTRY` that makes f32[256,128] is",
        measures.lines([first]),
        "hlo",
    )
    yield judge(
        relayout.removeprefix("%") == last.name,
        f"`{last.name}` brings it into the layout {_layout(last)}: that is where the transposition is paid for",
        f"{written.locate('RELAYOUT')}: not `{relayout}`. Two lines of `ENTRY` make f32[256,128]; the second takes "
        "the first and changes nothing but the layout",
        measures.lines([each for each in module.entry if each.opcode in {"fusion", "copy", "transpose"}]),
        "hlo",
    )
    found = [each for each in measures.find_all(module, "constant") if each.literal == "0.5"]
    places = {each.computation for each in found}
    yield judge(
        halves == len(places),
        f"`constant(0.5)` stands in {halves} computations: both fusions that need the product compute it",
        f"{written.locate('HALVES')}: not {halves}. Search the whole dump for `constant(0.5)`; which fusions call "
        "these?",
        [f"{each.computation}: {line}" for each, line in zip(found, measures.lines(found), strict=True)][:1],
        "hlo",
    )


def _layout(instruction: Instruction) -> tuple[int, ...]:
    layout = instruction.shape.layout
    return tuple(layout.minor_to_major) if layout is not None else ()


def check_one_fusion(written: Written) -> Iterator[Finding]:
    """One launch, and that a fusion."""
    alternate, where = written.function("alternate"), written.locate("alternate")
    x, w = measures.random(4096), np.float32(1.5)
    measures.expect_shapes(alternate, measures.shapes(x, w), jax.ShapeDtypeStruct((4096,), np.float32), where)
    measures.expect_numbers(jax.jit(alternate)(x, w), np.where(np.arange(4096) % 2 == 0, x * w, np.tanh(x)), where)
    yield good("the numbers are right")
    found = capture(alternate, *measures.shapes(x, w))
    fusions = list_fusions(found.module)
    launched = measures.kernel_lines(found)
    yield judge(
        len(launched) == 1 and len(fusions) == 1,
        f"one kernel is launched, a fusion of {len(fusions[0].opcodes) if fusions else 0} operations",
        f"{where}: {len(launched)} kernels are launched, and one fusion is asked for.{_blame(found.module)} `ENTRY` "
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
    told = [text for opcode, text in reasons.items() if opcodes[opcode]]
    return f" Here {'; '.join(told)}." if told else ""


def check_constants(written: Written) -> Iterator[Finding]:
    """No constant larger than a number, and the table among the parameters."""
    lookup, where = written.function("lookup"), written.locate("lookup")
    table = np.sin(np.arange(512 * 64, dtype=np.float32)).reshape(512, 64)
    ids = np.arange(32, dtype=np.int32) * 7
    measures.expect_shapes(lookup, measures.shapes(table, ids), jax.ShapeDtypeStruct((32, 64), np.float32), where)
    measures.expect_numbers(jax.jit(lookup)(table, ids), table[ids] * 8, where)
    yield good("the numbers are right for the table of the file")
    found = capture(lookup, *measures.shapes(table, ids))
    large = [each for each in measures.find_all(found.module, "constant") if each.shape.bytes > SMALL]
    size = sum(each.shape.bytes for each in large)
    yield judge(
        not large,
        "no constant of the program is larger than a number",
        f"{where}: the compiled program carries {size:,} bytes of constants; whatever `lookup` reads from the file "
        "and not from its arguments is one",
        measures.lines(large),
        "hlo",
    )
    parameters = found.module.entry.parameters
    yield judge(
        any(each.shape.dimensions == (512, 64) for each in parameters),
        f"the table is a parameter: {found.memory.arguments:,} bytes of arguments",
        f"{where}: the table is no parameter of the compiled program, whose parameters are",
        measures.lines(parameters),
        "hlo",
    )
    if large:
        return
    other = jax.jit(lookup)(table[::-1].copy(), ids)
    measures.expect_numbers(other, table[::-1][ids] * 8, f"{where}, with another table")
    yield good("another table gives other numbers")


def check_donate(written: Written) -> Iterator[Finding]:
    """Two results that lie where the two arguments lay."""
    update, where = written.function("update"), written.locate("update")
    params, momentum, gradient = (measures.random(512, 64, seed=seed) for seed in range(3))
    example = measures.shapes(params, momentum, gradient)
    result = jax.ShapeDtypeStruct((512, 64), np.float32)
    measures.expect_shapes(update, example, (result, result), where)
    if not hasattr(update, "lower"):
        raise WrongError(
            bad(f"{where}: the function is not jitted, and only a compiled program can take over a buffer")
        )
    with warnings.catch_warnings():
        # What JAX would warn of is told below, by what the module says.
        warnings.simplefilter("ignore")
        moved = 0.9 * momentum + gradient
        given = (jnp.asarray(params), jnp.asarray(momentum), jnp.asarray(gradient))
        measures.expect_numbers(update(*given), (params - 0.1 * moved, moved), where)
        yield good("the numbers are right")
        found = capture(update, *example)
    aliases = {
        int(output or 0): int(argument) for output, argument in _ALIAS.findall(found.module.input_output_alias or "")
    }
    names = ("params", "momentum", "gradient")
    header = found.after.partition("\n")[0]
    shown = [
        part for part in re.split(r", (?=\w+=)", header) if part.startswith(("HloModule", "input_output", "entry"))
    ]
    for output, name in enumerate(("params", "momentum")):
        taken = aliases.get(output)
        told = "has a buffer of its own" if taken is None else f"is written over `{names[taken]}`"
        yield judge(
            taken == output,
            f"result {output} is written where `{name}` lay",
            f"{where}: result {output}, the new {name}, {told}; it should lie where the old {name} lay. The module "
            "begins",
            shown,
            "hlo",
        )
    if not aliases:
        return
    yield judge(
        not _donates(update, example, "gradient"),
        f"{found.memory.aliased:,} of {found.memory.outputs:,} bytes of results take no new memory, and the gradient "
        "is kept",
        f"{where}: the gradient is given away too, and the caller still needs it: whether something is written over it "
        "is up to the compiler",
        shown,
        "hlo",
    )


def _donates(update: Any, example: tuple[Any, ...], name: str) -> bool:  # noqa: ANN401 - what `jax.jit` returns
    """Say whether a function gives an argument away, also where no result could take its buffer."""
    positions, names = update.lower(*example).args_info
    given = inspect.signature(update).bind(*positions, **names).arguments
    return bool(given[name].donated)
