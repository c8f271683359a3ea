"""The tables and checks of the chapter on buffers about donation, loops and rematerialization."""

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

# What the result is, compared with the argument: the types and shapes of both.
DONATIONS: dict[str, tuple[Typed, Typed]] = {
    "the same": (("float32", (1536,)), ("float32", (1536,))),
    "another type, as wide": (("float32", (1024,)), ("int32", (1024,))),
    "another type, as wide, of half the bytes": (("bfloat16", (512,)), ("float16", (512,))),
    "another type, half as wide": (("float32", (3072,)), ("bfloat16", (3072,))),
    "another shape": (("float32", (2048,)), ("float32", (32, 64))),
    "transposed": (("float32", (8, 640)), ("float32", (640, 8))),
    "as many bytes, more elements": (("float32", (256,)), ("uint8", (1024,))),
}
TABLE = "f32[64,1024]"
STACK = "f32[16,1024,256]"


def show_aliased(lent: Captures, donated: Captures) -> str:
    """Return the aliased bytes and the peak with and without donation by target."""
    rows = []
    for target, after in donated.items():
        before = lent[target].memory
        numbers = (before.aliased, after.memory.aliased, before.peak, after.memory.peak)
        rows.append((title(target), *map(markdown.size, numbers)))
    header = ["target", "aliased", "aliased, donated", "peak", "peak, donated"]
    return markdown.table(header, rows, numbers=range(1, 5))


def check_aliased(lent: Captures, donated: Captures) -> None:
    """Check that the donated program alone aliases, by the size of its state."""
    for target, after in donated.items():
        before = lent[target]
        assert before.memory.aliased == 0
        assert after.memory.aliased == before.memory.outputs
        assert before.module.input_output_alias is None
        assert after.module.input_output_alias == "{ {}: (0, {}, may-alias) }"
        assert before.memory.peak - after.memory.peak == after.memory.aliased


def compile_donations() -> tuple[Captures, list[str]]:
    """Return a program that donates an argument of each sort, and the warnings of JAX."""

    def take(*arguments: jax.Array) -> tuple[jax.Array, ...]:
        """Return for each argument a result of the type and shape that the table names."""
        return tuple(
            (jnp.resize(argument + 1, shape) if shape != argument.shape[::-1] else argument.T + 1).astype(dtype)
            for argument, (_, (dtype, shape)) in zip(arguments, DONATIONS.values(), strict=True)
        )

    example = tuple(jax.ShapeDtypeStruct(shape, dtype) for (dtype, shape), _ in DONATIONS.values())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jax.jit(take, donate_argnums=range(len(DONATIONS))).lower(*example)
        taken = capture_all(take, *example, donate_argnums=range(len(DONATIONS)))
    return taken, [str(each.message) for each in caught]


def list_reused(found: Capture) -> set[int]:
    """Return the numbers of the arguments whose memory a result gets."""
    alias = found.module.input_output_alias or ""
    return {int(number) for number in re.findall(r"\((\d+), \{\}, may-alias\)", alias)}


def show_donations(taken: Captures) -> str:
    """Return by sort of donation whether each target uses the memory."""

    def format_type(dtype: str, shape: Sequence[int]) -> str:
        return markdown.code(f"{dtype}[{','.join(map(str, shape))}]")

    rows = [
        (
            sort,
            f"{format_type(*argument)} → {format_type(*result)}",
            *("used" if number in list_reused(found) else "not" for found in taken.values()),
        )
        for number, (sort, (argument, result)) in enumerate(DONATIONS.items())
    ]
    return markdown.cards(["the result is", "donated → result", *map(title, taken)], rows)


def check_donations(taken: Captures, warned: Sequence[str]) -> None:
    """Check that donated memory is used where a result has its bytes, and that JAX warns of the one without."""
    for found in taken.values():
        pairs = zip(found.module.entry.parameters, found.module.entry.root.shape.elements, strict=True)
        fits = {
            number
            for number, (parameter, result) in enumerate(pairs)
            if (parameter.shape.padded_bytes, parameter.shape.size) == (result.padded_bytes, result.size)
        }
        assert list_reused(found) == fits
        assert "optimize_input_output_buffer_alias" in [run.name for run in found.runs]
        donors = re.findall("jax.buffer_donor|tf.aliasing_output", found.stablehlo)
        assert len(donors) == len(DONATIONS) - 1
    assert {message.split("\n")[0] for message in warned} == {"Some donated buffers were not usable: float32[256]."}
    for target, unused in {"cpu": {3, 6}, "h100": {3, 6}, "tpu-v5e": {3, 4, 6}}.items():
        assert list_reused(taken[target]) == set(range(len(DONATIONS))) - unused


def count_table_copies(found: Capture, *, entry: bool) -> int:
    """Return the number of copies of the table, in ENTRY or everywhere else."""
    copies = [each for each in found.module.walk() if each.opcode in {"copy", "copy-start"}]
    return sum(
        (each.shape.elements or (each.shape,))[0].plain == TABLE
        for each in copies
        if (each.computation == found.module.entry.name) == entry
    )


def list_removed(found: Capture) -> list[Decision]:
    """Return the removals of copies between the table of an iteration and that of the next one."""
    inside = {
        each.instruction
        for each in find_decisions(found, "copy-values")
        if "table.1" in each.words and "arg_tuple" in each.words and each.words.startswith("Source")
    }
    return [each for each in find_decisions(found, "copy-could-go") if each.instruction in inside]


def show_updated(found: Capture) -> str:
    """Return the first line of the allocation that holds the updated table, with its values of the table's shape."""
    allocations = re.split(r"\n(?=allocation )", found.buffers)
    updates = r"value: <\d+ \S*dynamic-update-slice|dynamic_update_slice_fusion"
    head, *values = next(text for text in allocations if re.search(updates, text)).splitlines()
    lines = (head, *(value for value in values if TABLE in value and "copy-start{}" not in value))
    return markdown.fence("\n".join(lines), "text", wrap=True)


def check_loop(loop: Captures, donated: Captures) -> None:
    """Check the copies of the table in the loop and around it, without and with donation."""
    for target, found in loop.items():
        after = donated[target]
        copies = [count_table_copies(one, entry=entry) for one in (found, after) for entry in (False, True)]
        assert copies == [0, 2 if target == "tpu-v5e" else 1, 0, 0]
        assert "dynamic-update-slice" in found.module.opcode_counts()
        (table,) = (
            a
            for a in list_allocations(found)
            if re.search("dynamic.update.slice", " ".join(value.instruction for value in a.values))
        )
        assert len({value.offset for value in table.values if value.shape.plain == TABLE}) == 1
        assert sum(value.is_phi for value in table.values) >= 2
        for decisions in (
            find_decisions(found, "copied-for-loop", "while"),
            list_removed(found),
            find_decisions(found, "copied-read-only", "table"),
        ):
            assert (decisions[0].pass_name, decisions[0].verdict) == ("copy-insertion", "done")
        assert find_decisions(after, "copied-read-only", "table") == []


def check_returned_twice(both: Captures, scanned: Captures) -> None:
    """Check the tables and copies where a table is returned changed and as it was, and that a scan copies none."""
    for found in both.values():
        outputs = [a for a in list_allocations(found) if (a.kind, a.size) == ("output", found.memory.arguments)]
        assert len(outputs) == 2
        protected = find_decisions(found, "copy-protects", "copy", ("table.1",))[0]
        assert (protected.verdict, protected.others[0]) == ("refused", "table.1")
        returned = find_decisions(found, "result-is-argument")[0]
        assert (returned.pass_name, returned.verdict) == ("copy-insertion", "done")
        steps = [(step.name, step.module.opcode_counts()["copy"]) for step in found.passes]
        at = next(place for place, (name, _) in enumerate(steps) if "copies_to_resolve" in name)
        assert {count for _, count in steps[:at]} == {0}
        assert next(count for name, count in steps[at:] if name == "copy-insertion") == 2
        assert any(run.name == "copy-insertion" and run.changed for run in found.runs)
    assert [both[target].module.opcode_counts()["copy"] for target in ("cpu", "h100")] == [2, 2]
    assert all(count_table_copies(found, entry=entry) == 0 for found in scanned.values() for entry in (True, False))


def list_stacks(found: Capture) -> list[str]:
    """Return the stacks that the loop of the forward half fills for the backward half."""
    forward = next(each for each in found.module.walk() if each.opcode == "while")
    return [leaf.plain for leaf in forward.shape.leaves() if leaf.plain == STACK]


def check_checkpoint(plain: Captures, again: Captures) -> None:
    """Check the stacks, the matmuls and the memory of a gradient without and with jax.checkpoint."""
    memory = [count_bytes(captures, "temporary") for captures in (plain, again)]
    for target in plain:
        assert (len(list_stacks(plain[target])), len(list_stacks(again[target]))) == (4, 1)
        assert memory[1][target] < memory[0][target] / 2
    assert [captures["cpu"].jaxpr.count("dot_general") for captures in (plain, again)] == [3, 4]
    assert ["optimization_barrier" in captures["cpu"].stablehlo for captures in (plain, again)] == [False, True]
    assert plain["cpu"].memory.temporaries / 2 < 4 * 16 * MIB


def count_product(found: Capture) -> int:
    """Return the bytes of the largest value."""
    return max(value.size for a in list_allocations(found) for value in a.values)


def list_remade(found: Capture) -> list[str]:
    """Return the instructions that compute a value again."""
    return [each.name for each in found.module.entry if ".remat" in each.name]


def show_remade(fits: Capture, large: Capture, silence: str) -> str:
    """Return a table of two sizes of a program with their memory, and the words of the compilers.

    Args:
        fits: The program at the smaller size.
        large: The program at the larger size.
        silence: The sentence that says why the CPU's compiler has no words.
    """
    rows = [
        (
            markdown.code(found.module.entry.root.shape.plain),
            markdown.size(count_product(found)),
            markdown.size(found.memory.temporaries),
            len(list_remade(found)),
        )
        for found in (fits, large)
    ]
    header = ["result", "one matmul's result", "temporary memory", "computed again"]
    quotes: dict[str, Decision | list[Decision] | str] = {
        fits.module.entry.root.shape.plain: list_fitting(fits),
        large.module.entry.root.shape.plain: find_decisions(large, "over-limit")[0],
        "cpu": silence,
    }
    return f"{markdown.table(header, rows, numbers=(1, 2, 3))}\n{quote_reasons(quotes)}"


def list_fitting(found: Capture) -> list[Decision]:
    """Return the decisions that the whole module fits."""
    return [each for each in find_decisions(found, "fits") if each.module == "jit_used_twice"]


def check_remade(fits: Capture, large: Capture) -> None:
    """Check that the pass changes the large program alone, and keeps one result instead of two there."""
    runs = [{run.name: run.changed for run in found.runs} for found in (fits, large)]
    assert [changed["rematerialization"] for changed in runs] == [False, True]
    assert [len(list_remade(found)) for found in (fits, large)] == [0, 1]
    assert [(each.verdict, each.pass_name) for each in list_fitting(fits)] == [("refused", "rematerialization")]
    assert {each.pass_name for each in find_decisions(large, "over-limit")} == {"rematerialization"}
    again = [(each.verdict, f"{each.instruction}.remat") for each in find_decisions(large, "rematerialized")]
    assert again == [("done", list_remade(large)[0])]
    assert fits.memory.temporaries > 2 * count_product(fits)
    assert large.memory.temporaries < 1.1 * count_product(large)
    at = next(number for number, step in enumerate(large.passes) if step.name == "rematerialization")
    assert large.passes[at - 1].module.is_scheduled
