"""Tables and checks of the chapter on buffers: the sums of memory_analysis(), compared with the memory plan."""

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
    "argument_size_in_bytes": ("arguments", "all arguments"),
    "output_size_in_bytes": ("outputs", "all results, and a table of pointers if they are a tuple"),
    "alias_size_in_bytes": ("aliased", "the memory that results share with donated arguments"),
    "temp_size_in_bytes": ("temporaries", "temporary memory in the device's main memory, without on-chip memory"),
    "generated_code_size_in_bytes": (
        "generated_code",
        "the TPU's machine code and constants; zero on the CPU and the H100",
    ),
    "peak_memory_in_bytes": ("peak", "a different number on each target, see the next section"),
}
"""For each field of `memory_analysis()`: its name in `Capture.memory`, and its meaning."""


def measure(x: jax.Array) -> jax.Array:
    """Multiply `x` by `RULER`, a constant of 16 KiB that becomes part of the program."""
    return x * RULER


def show_fields(chain: Captures) -> str:
    """Return a folded table of the fields of `memory_analysis()`, their meanings and their values on each target."""
    rows = [
        (markdown.code(field), meaning, *(markdown.size(getattr(program.memory, name)) for program in chain.values()))
        for field, (name, meaning) in FIELDS.items()
    ]
    table = markdown.cards(["field", "meaning", *map(title, chain)], rows)
    return markdown.fold("The fields of memory_analysis() for the chain of matmuls", table)


def count_needed(program: Capture) -> int:
    """Return the sum of arguments, results and temporary memory, in bytes; shared memory counts once."""
    memory = program.memory
    return memory.arguments + memory.outputs - memory.aliased + memory.temporaries


def count_constants(program: Capture) -> int:
    """Return the bytes of the constants in the memory plan."""
    return sum(a.size for a in list_allocations(program) if a.kind == "constant")


def count_main_memory(program: Capture) -> int:
    """Return the bytes of all allocations in main memory, without values inside a kernel, which need none."""
    return sum(a.size for a in list_allocations(program) if a.color == 0 and a.kind != "thread-local")


def list_main_temporaries(program: Capture) -> list[Allocation]:
    """Return the memory plan's temporary allocations in main memory."""
    return [a for a in list_allocations(program) if a.color == 0 and a.kind == "temporary"]


def count_tables(program: Capture) -> int:
    """Return the bytes of the tables of pointers in temporary main memory."""
    values = [value for a in list_main_temporaries(program) for value in a.values]
    # A tuple in memory is a table of pointers to its elements.
    return sum(value.size for value in values if str(value.shape).startswith("("))


def count_unlisted(program: Capture) -> int:
    """Return the bytes of main memory in the plan that are neither in `count_needed` nor constants."""
    return count_main_memory(program) - count_needed(program) - count_constants(program)


def show_sums(programs: Programs) -> str:
    """Return a folded HTML table of the result of `count_needed` and the peak of each program on each target."""
    targets = next(iter(programs.values()))
    columns = [f"{title(target)}, {number}" for target in targets for number in ("sum", "peak")]
    rows = []
    for name, captures in programs.items():
        numbers = (number for program in captures.values() for number in (count_needed(program), program.memory.peak))
        label = markdown.code(name) if name in buffers.PROGRAMS else name
        rows.append((label, *map(markdown.size, numbers)))
    return markdown.fold("The sum and the peak of each program", markdown.cards(["program", *columns], rows))


def check_sums(programs: Programs, attention: Capture) -> None:
    """Assert that needed memory and constants add up to the plan, except for temporary memory of the TPU.

    Args:
        programs: The captures of each program, including `measure`.
        attention: Attention on the TPU.
    """
    for captures in programs.values():
        for target, program in captures.items():
            temporary = sum(a.size for a in list_main_temporaries(program))
            assert count_unlisted(program) == (temporary - program.memory.temporaries if target == "tpu-v5e" else 0)
    assert count_unlisted(attention) > 20 * count_tables(attention) > 0
    assert all(count_constants(program) >= RULER.nbytes for program in programs["measure"].values())


def check_peak_numbers(programs: Programs) -> None:
    """Assert the relation of each program's peak to its other numbers, by target, and the size of the TPU's code."""
    programs["chain"].require()
    for captures in programs.values():
        for target, program in captures.items():
            peak, most = program.memory.peak, count_needed(program) + count_constants(program)
            if target == "cpu":
                assert peak == most - program.memory.temporaries
            elif target == "h100":
                assert 0.99 * most < peak <= most
            else:
                assert (peak > most) is (parse_buffers(program.buffers).bytes_by_color().get(1, 0) > 0)
            assert (program.memory.generated_code > 0) is (target == "tpu-v5e")
    assert [program.memory.temporaries > 0 for program in programs["chain"].values()] == [True, True, False]
    code = [programs[name]["tpu-v5e"].memory.generated_code for name in ("measure", "update")]
    assert RULER.nbytes <= code[0] - code[1] < RULER.nbytes + 4096


def check_stats(chain: Captures, gradient: Captures, constant: Captures) -> None:
    """Assert the fields and the total of `memory_analysis()`, and the sizes of arguments and results."""
    for function, example, program in (
        (buffers.chain, buffers.PROGRAMS["chain"][1], chain["cpu"]),
        (measure, (RULER,), constant["cpu"]),
    ):
        stats = jax.jit(function).lower(*example).compile().memory_analysis()
        assert stats is not None
        assert stats.total_allocation_bytes == count_main_memory(program)
        host = [getattr(stats, name) for name in dir(stats) if name.startswith("host_")]
        assert host == [0] * 5
        assert all(hasattr(stats, field) for field in FIELDS)
    for captures, in_tuple in ((chain, False), (gradient, True)):
        for program in captures.values():
            entry = program.module.entry
            # Several results need a table of pointers in addition to their own bytes.
            assert (program.memory.outputs > sum(leaf.padded_bytes for leaf in entry.root.shape.leaves())) is in_tuple
            leaves = [leaf for parameter in entry.parameters for leaf in parameter.shape.leaves()]
            assert program.memory.arguments == sum(leaf.padded_bytes for leaf in leaves)
