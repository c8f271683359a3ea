"""Tables and checks of the chapter on buffers: donation, loops and rematerialization."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from chapters import find_decisions, quote_reasons
from pages.buffers_page import MIB, count_bytes, list_allocations
from xla_inspect import capture_all
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis.reasons import Decision

type Typed = tuple[str, tuple[int, ...]]

# The relation of the result to the argument, with the types and shapes of the argument and of the result.
DONATIONS: dict[str, tuple[Typed, Typed]] = {
    "the same type and shape": (("float32", (1536,)), ("float32", (1536,))),
    "another type of the same width": (("float32", (1024,)), ("int32", (1024,))),
    "another type of the same width, two bytes each": (("bfloat16", (512,)), ("float16", (512,))),
    "another type of half the width": (("float32", (3072,)), ("bfloat16", (3072,))),
    "another shape": (("float32", (2048,)), ("float32", (32, 64))),
    "transposed": (("float32", (8, 640)), ("float32", (640, 8))),
    "as many bytes in more elements": (("float32", (256,)), ("uint8", (1024,))),
}
TABLE = "f32[64,1024]"
STACK = "f32[16,1024,256]"


def show_aliased(undonated: Captures, donated: Captures) -> str:
    """Return a Markdown table of the aliased bytes and the peak on each target, without and with donation."""
    rows = []
    for target, after in donated.items():
        before = undonated[target].memory
        numbers = (before.aliased, after.memory.aliased, before.peak, after.memory.peak)
        rows.append((title(target), *map(markdown.size, numbers)))
    header = ["target", "aliased", "aliased with donation", "peak", "peak with donation"]
    return markdown.table(header, rows, numbers=range(1, 5))


def check_aliased(undonated: Captures, donated: Captures) -> None:
    """Assert that only the donated program aliases memory, and exactly the size of its results."""
    for target, after in donated.items():
        before = undonated[target]
        assert before.memory.aliased == 0
        assert after.memory.aliased == before.memory.outputs
        assert before.module.input_output_alias is None
        assert after.module.input_output_alias == "{ {}: (0, {}, may-alias) }"
        assert before.memory.peak - after.memory.peak == after.memory.aliased


def compile_donations() -> tuple[Captures, list[str]]:
    """Compile a program that donates an argument for each entry of `DONATIONS`; return captures and JAX's warnings."""

    def take(*arguments: jax.Array) -> tuple[jax.Array, ...]:
        """Return a result for each argument, with the type and shape in `DONATIONS`."""
        return tuple(
            (jnp.resize(argument + 1, shape) if shape != argument.shape[::-1] else argument.T + 1).astype(dtype)
            for argument, (_, (dtype, shape)) in zip(arguments, DONATIONS.values(), strict=True)
        )

    example = tuple(jax.ShapeDtypeStruct(shape, dtype) for (dtype, shape), _ in DONATIONS.values())
    with warnings.catch_warnings(record=True) as log:
        # By default, Python records only the first of several equal warnings from one place.
        warnings.simplefilter("always")
        jax.jit(take, donate_argnums=range(len(DONATIONS))).lower(*example)
        captures = capture_all(take, *example, donate_argnums=range(len(DONATIONS)))
    return captures, [str(warning.message) for warning in log]


def list_reused(program: Capture) -> set[int]:
    """Return the numbers of the arguments whose memory a result reuses."""
    alias = program.module.input_output_alias or ""
    return {int(number) for number in re.findall(r"\((\d+), \{\}, may-alias\)", alias)}


def show_donations(captures: Captures) -> str:
    """Return an HTML table of the kinds in `DONATIONS`, with `used` or `not used` for each target."""

    def format_type(dtype: str, shape: Sequence[int]) -> str:
        return markdown.code(f"{dtype}[{','.join(map(str, shape))}]")

    rows = [
        (
            sort,
            f"{format_type(*argument)} → {format_type(*result)}",
            *("used" if number in list_reused(program) else "not used" for program in captures.values()),
        )
        for number, (sort, (argument, result)) in enumerate(DONATIONS.items())
    ]
    return markdown.cards(["result, compared with the argument", "argument → result", *map(title, captures)], rows)


def check_donations(captures: Captures, messages: Sequence[str]) -> None:
    """Assert, on given captures and warnings, which donations are used, and about which JAX warns.

    XLA uses donated memory if the result at the same position has as many bytes, including padding, and as many
    elements. JAX warns about an argument if no result has as many elements.
    """
    for program in captures.values():
        pairs = zip(program.module.entry.parameters, program.module.entry.root.shape.elements, strict=True)
        fits = {
            number
            for number, (parameter, result) in enumerate(pairs)
            if (parameter.shape.padded_bytes, parameter.shape.size) == (result.padded_bytes, result.size)
        }
        assert list_reused(program) == fits
        assert "optimize_input_output_buffer_alias" in [run.name for run in program.runs]
        donors = re.findall("jax.buffer_donor|tf.aliasing_output", program.stablehlo)
        assert len(donors) == len(DONATIONS) - 1
    assert {message.split("\n")[0] for message in messages} == {"Some donated buffers were not usable: float32[256]."}
    for target, unused in {"cpu": {3, 6}, "h100": {3, 6}, "tpu-v5e": {3, 4, 6}}.items():
        assert list_reused(captures[target]) == set(range(len(DONATIONS))) - unused


def count_table_copies(program: Capture, *, entry: bool) -> int:
    """Return the number of copies of the table in the ENTRY computation, or in all other computations."""
    copies = [copy for copy in program.module.walk() if copy.opcode in {"copy", "copy-start"}]
    # A `copy-start` returns a tuple, whose first element has the shape of the copied array.
    return sum(
        (copy.shape.elements or (copy.shape,))[0].plain == TABLE
        for copy in copies
        if (copy.computation == program.module.entry.name) == entry
    )


def list_removed(program: Capture) -> list[Decision]:
    """Return the logged decisions that remove copies of the table between one iteration and the next."""
    inside = {
        decision.instruction
        for decision in find_decisions(program, "copy-values")
        if "table.1" in decision.words and "arg_tuple" in decision.words and decision.words.startswith("Source")
    }
    return [decision for decision in find_decisions(program, "copy-could-go") if decision.instruction in inside]


def show_updated(program: Capture) -> str:
    """Return a listing of the updated table's allocation: its first line, and its values with the table's shape."""
    allocations = re.split(r"\n(?=allocation )", program.buffers)
    updates = r"value: <\d+ \S*dynamic-update-slice|dynamic_update_slice_fusion"
    head, *values = next(text for text in allocations if re.search(updates, text)).splitlines()
    lines = (head, *(value for value in values if TABLE in value and "copy-start{}" not in value))
    return markdown.fence("\n".join(lines), "text", wrap=True)


def check_loop(loop: Captures, donated: Captures) -> None:
    """Assert the number of copies of the table inside and outside the loop, without and with donation."""
    for target, program in loop.items():
        after = donated[target]
        copies = [count_table_copies(version, entry=entry) for version in (program, after) for entry in (False, True)]
        assert copies == [0, 2 if target == "tpu-v5e" else 1, 0, 0]
        assert "dynamic-update-slice" in program.module.opcode_counts()
        (table,) = (
            a
            for a in list_allocations(program)
            if re.search("dynamic.update.slice", " ".join(value.instruction for value in a.values))
        )
        assert len({value.offset for value in table.values if value.shape.plain == TABLE}) == 1
        assert sum(value.is_phi for value in table.values) >= 2
        for decisions in (
            find_decisions(program, "copied-for-loop", "while"),
            list_removed(program),
            find_decisions(program, "copied-read-only", "table"),
        ):
            assert (decisions[0].pass_name, decisions[0].verdict) == ("copy-insertion", "done")
        assert find_decisions(after, "copied-read-only", "table") == []


def check_returned_twice(both: Captures, scan: Captures) -> None:
    """Assert the copies if the changed and the original table are returned, and that a scan copies no table."""
    for program in both.values():
        outputs = [a for a in list_allocations(program) if (a.kind, a.size) == ("output", program.memory.arguments)]
        assert len(outputs) == 2
        protected = find_decisions(program, "copy-protects", "copy", ("table.1",))[0]
        assert (protected.verdict, protected.others[0]) == ("refused", "table.1")
        returned = find_decisions(program, "result-is-argument")[0]
        assert (returned.pass_name, returned.verdict) == ("copy-insertion", "done")
        steps = [(step.name, step.module.opcode_counts()["copy"]) for step in program.passes]
        at = next(place for place, (name, _) in enumerate(steps) if "copies_to_resolve" in name)
        assert {count for _, count in steps[:at]} == {0}
        assert next(count for name, count in steps[at:] if name == "copy-insertion") == 2
        assert any(run.name == "copy-insertion" and run.changed for run in program.runs)
    assert [both[target].module.opcode_counts()["copy"] for target in ("cpu", "h100")] == [2, 2]
    assert all(count_table_copies(program, entry=entry) == 0 for program in scan.values() for entry in (True, False))


def list_stacks(program: Capture) -> list[str]:
    """Return the shape of each stack that the forward pass's loop fills for the backward pass, all equal to `STACK`."""
    forward = next(instruction for instruction in program.module.walk() if instruction.opcode == "while")
    return [leaf.plain for leaf in forward.shape.leaves() if leaf.plain == STACK]


def check_checkpoint(plain: Captures, again: Captures) -> None:
    """Assert the stacks, the matmuls and the memory of a gradient without and with jax.checkpoint."""
    memory = [count_bytes(captures, "temporary") for captures in (plain, again)]
    for target in plain:
        assert (len(list_stacks(plain[target])), len(list_stacks(again[target]))) == (4, 1)
        assert memory[1][target] < memory[0][target] / 2
    assert [captures["cpu"].jaxpr.count("dot_general") for captures in (plain, again)] == [3, 4]
    assert ["optimization_barrier" in captures["cpu"].stablehlo for captures in (plain, again)] == [False, True]
    assert plain["cpu"].memory.temporaries / 2 < 4 * 16 * MIB


def count_product(program: Capture) -> int:
    """Return the bytes of the largest value in the memory plan, the result of one matmul."""
    return max(value.size for a in list_allocations(program) for value in a.values)


def list_remade(program: Capture) -> list[str]:
    """Return the names of ENTRY's instructions that compute a value again, which contain `.remat`."""
    # XLA appends `.remat` to the name of an instruction that it computes again.
    return [instruction.name for instruction in program.module.entry if ".remat" in instruction.name]


def show_remade(fits: Capture, large: Capture, silence: str) -> str:
    """Return a Markdown table of a program's memory at two sizes, and a fold with quotes from the compilers' logs.

    Args:
        fits: The program at the smaller size.
        large: The program at the larger size.
        silence: The sentence that explains why the CPU's compiler logs nothing.
    """
    rows = [
        (
            markdown.code(program.module.entry.root.shape.plain),
            markdown.size(count_product(program)),
            markdown.size(program.memory.temporaries),
            len(list_remade(program)),
        )
        for program in (fits, large)
    ]
    header = ["result", "size of one matmul's result", "temporary memory", "values computed again"]
    quotes: dict[str, Decision | list[Decision] | str] = {
        fits.module.entry.root.shape.plain: list_fitting(fits),
        large.module.entry.root.shape.plain: find_decisions(large, "over-limit")[0],
        "cpu": silence,
    }
    logs = markdown.fold("The logs of the compilers", quote_reasons(quotes))
    return f"{markdown.table(header, rows, numbers=(1, 2, 3))}\n{logs}"


def list_fitting(program: Capture) -> list[Decision]:
    """Return the logged decisions that the module `jit_used_twice` fits in memory."""
    return [decision for decision in find_decisions(program, "fits") if decision.module == "jit_used_twice"]


def check_remade(fits: Capture, large: Capture) -> None:
    """Assert that rematerialization changes only the large program, which then stores one result instead of two."""
    runs = [{run.name: run.changed for run in program.runs} for program in (fits, large)]
    assert [changes["rematerialization"] for changes in runs] == [False, True]
    assert [len(list_remade(program)) for program in (fits, large)] == [0, 1]
    assert [(decision.verdict, decision.pass_name) for decision in list_fitting(fits)] == [
        ("refused", "rematerialization")
    ]
    assert {decision.pass_name for decision in find_decisions(large, "over-limit")} == {"rematerialization"}
    recomputed = find_decisions(large, "rematerialized")
    assert [(decision.verdict, f"{decision.instruction}.remat") for decision in recomputed] == [
        ("done", list_remade(large)[0])
    ]
    assert fits.memory.temporaries > 2 * count_product(fits)
    assert large.memory.temporaries < 1.1 * count_product(large)
    at = next(number for number, step in enumerate(large.passes) if step.name == "rematerialization")
    assert large.passes[at - 1].module.is_scheduled
