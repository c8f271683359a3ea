"""The tables and checks of the chapter on buffers about the sums of memory_analysis(), and what the plan adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from pages.buffers_page import list_allocations
from programs import buffers
from xla_inspect.analysis import parse_buffers
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis import Allocation

type Programs = Mapping[str, Captures]

RULER = np.linspace(0, 1, 4096, dtype=np.float32)

FIELDS = {
    "argument_size_in_bytes": ("arguments", "All arguments."),
    "output_size_in_bytes": ("outputs", "All results, and the table of pointers when they are a tuple."),
    "alias_size_in_bytes": ("aliased", "The part of both that is the same memory, because an argument was donated."),
    "temp_size_in_bytes": ("temporaries", "Temporary memory in the main memory of the device, not that on the chip."),
    "generated_code_size_in_bytes": ("generated_code", "The TPU's machine code and constants; zero for the others."),
    "peak_memory_in_bytes": ("peak", "Something else on each target; see below."),
}
"""By field of `memory_analysis()`, its name in a capture and its meaning."""


def measure(x: jax.Array) -> jax.Array:
    """Scale by numbers that are part of the program."""
    return x * RULER


def show_fields(chain: Captures) -> str:
    """Return the fields of `memory_analysis()` with their meaning and their values on each target."""
    rows = [
        (markdown.code(field), meaning, *(markdown.size(getattr(found.memory, name)) for found in chain.values()))
        for field, (name, meaning) in FIELDS.items()
    ]
    return markdown.cards(["field", "what it counts", *map(title, chain)], rows)


def count_needed(found: Capture) -> int:
    """Return the sum of arguments, results and temporary memory, without what a result shares with an argument."""
    memory = found.memory
    return memory.arguments + memory.outputs - memory.aliased + memory.temporaries


def count_constants(found: Capture) -> int:
    """Return the bytes of the constants."""
    return sum(a.size for a in list_allocations(found) if a.kind == "constant")


def count_main_memory(found: Capture) -> int:
    """Return the bytes of all allocations in main memory; those inside a kernel take none."""
    return sum(a.size for a in list_allocations(found) if a.color == 0 and a.kind != "thread-local")


def list_main_temporaries(found: Capture) -> list[Allocation]:
    """Return the temporary allocations in main memory."""
    return [a for a in list_allocations(found) if a.color == 0 and a.kind == "temporary"]


def count_tables(found: Capture) -> int:
    """Return the bytes of the tables of pointers in temporary main memory."""
    values = [value for a in list_main_temporaries(found) for value in a.values]
    return sum(value.size for value in values if str(value.shape).startswith("("))


def count_unlisted(found: Capture) -> int:
    """Return the bytes of the plan's main memory that neither the sum nor the constants hold."""
    return count_main_memory(found) - count_needed(found) - count_constants(found)


def show_sums(planned: Programs) -> str:
    """Return the sum and the peak of each program on each target, folded."""
    targets = next(iter(planned.values()))
    columns = [f"{title(target)}, {number}" for target in targets for number in ("sum", "peak")]
    rows = []
    for name, captures in planned.items():
        numbers = (number for found in captures.values() for number in (count_needed(found), found.memory.peak))
        label = markdown.code(name) if name in buffers.PROGRAMS else name
        rows.append((label, *map(markdown.size, numbers)))
    return markdown.fold("Sum and peak, program by program", markdown.cards(["program", *columns], rows))


def check_sums(planned: Programs, attended: Capture) -> None:
    """Check that sum and constants are the plan, but for temporary memory of the TPU.

    Args:
        planned: Captures by program, those of `measure` among them.
        attended: Attention on the TPU.
    """
    for captures in planned.values():
        for target, found in captures.items():
            temporary = sum(a.size for a in list_main_temporaries(found))
            assert count_unlisted(found) == (temporary - found.memory.temporaries if target == "tpu-v5e" else 0)
    assert count_unlisted(attended) > 20 * count_tables(attended) > 0
    assert all(count_constants(found) >= RULER.nbytes for found in planned["measure"].values())


def check_peak_numbers(planned: Programs) -> None:
    """Check the peak of each program against its sum, and the size of the TPU's code."""
    planned["chain"].require()
    for captures in planned.values():
        for target, found in captures.items():
            peak, most = found.memory.peak, count_needed(found) + count_constants(found)
            if target == "cpu":
                assert peak == most - found.memory.temporaries
            elif target == "h100":
                assert 0.99 * most < peak <= most
            else:
                assert (peak > most) is (parse_buffers(found.buffers).bytes_by_color().get(1, 0) > 0)
            assert (found.memory.generated_code > 0) is (target == "tpu-v5e")
    assert [found.memory.temporaries > 0 for found in planned["chain"].values()] == [True, True, False]
    code = [planned[name]["tpu-v5e"].memory.generated_code for name in ("measure", "update")]
    assert RULER.nbytes <= code[0] - code[1] < RULER.nbytes + 4096


def check_stats(chain: Captures, gradient: Captures, constant: Captures) -> None:
    """Check the fields of `memory_analysis()`, its total, and what arguments and results count."""
    for function, example, found in (
        (buffers.chain, buffers.PROGRAMS["chain"][1], chain["cpu"]),
        (measure, (RULER,), constant["cpu"]),
    ):
        stats = jax.jit(function).lower(*example).compile().memory_analysis()
        assert stats is not None
        assert stats.total_allocation_bytes == count_main_memory(found)
        host = [getattr(stats, name) for name in dir(stats) if name.startswith("host_")]
        assert host == [0] * 5
        assert all(hasattr(stats, field) for field in FIELDS)
    for captures, in_tuple in ((chain, False), (gradient, True)):
        for found in captures.values():
            entry = found.module.entry
            assert (found.memory.outputs > sum(leaf.padded_bytes for leaf in entry.root.shape.leaves())) is in_tuple
            leaves = [leaf for parameter in entry.parameters for leaf in parameter.shape.leaves()]
            assert found.memory.arguments == sum(leaf.padded_bytes for leaf in leaves)
