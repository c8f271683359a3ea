"""Tables and checks of the chapter on buffers: the memory plan and live ranges."""

from __future__ import annotations

import re
import tempfile
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from programs import attention, buffers, layer
from xla_inspect import capture_all
from xla_inspect.analysis import find_peak, list_kernels, parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect import Capture, Captures
    from xla_inspect.analysis import Allocation, Placement
    from xla_inspect.analysis.reasons import Decision

MIB = 1 << 20
OBJECTIVE = """\
minimize   max over i of
             offset[i] + size[i]
such that  offset[i] + size[i] <= offset[j]
        or offset[j] + size[j] <= offset[i]
for all    i, j that are live at the same time:
             first[i] <= last[j] and first[j] <= last[i]"""
"""The problem of placing values in one block of memory; value i is live from instruction first[i] to last[i]."""
KINDS = ("parameter", "output", "temporary", "constant")
LINES = {
    r"allocation \d+: .*, parameter \d+, shape .*ShapeIndex \{\}:$": (
        "An argument. The memory belongs to the caller, so no other value may use it. If the parameter is a tuple,"
        " <code>ShapeIndex</code> gives the element."
    ),
    r"output shape is .*maybe-live-out:": (
        "The result. <code>maybe-live-out</code> means that the values here may be read after the program has ended."
    ),
    r"parameter \d+, .*maybe-live-out:": (
        "A donated argument. The result overwrites it, so it is live when the program ends."
    ),
    r"preallocated-temp:": (
        "Temporary memory, which is allocated before the first kernel starts. It holds small and large values."
    ),
    r", constant:": "A constant of the program. It is part of the executable and is never overwritten.",
    r", thread-local:": (
        "A value inside a function that a kernel calls for each element, such as the addition of a reduction."
        " It is in a register or on a stack, so the plan assigns no memory to it."
    ),
    r"color 1,": (
        "<code>color</code> is the memory space; a line without it is about the device's main memory. On a TPU,"
        " <code>color 1</code> is the vector memory on the chip, which layouts mark <code>S(1)</code>."
    ),
    r" value: <\d+ ynn_fusion @0>": (
        "A value: its number, the instruction that computes it, the memory space after <code>@</code>, its size,"
        " its offset in the allocation, and its shape with the layout."
    ),
    r" value: <.*offset=[1-9]": (
        "A value that does not start at the beginning of its allocation, which holds several values at the same time."
    ),
    r" value: <\d+ \S+\{\d\}": "One element of a tuple; the number in braces is its index.",
    r" value: .*\(phi\)": (
        "A value with several sources: a value that a loop carries comes from before the loop or from the last"
        " iteration. XLA has put both in one place, so that no iteration copies the value."
    ),
}
"""Regular expressions for kinds of lines in a memory plan, each with the meaning of such a line as HTML."""


def compile_buffers(name: str, **options: object) -> Captures:
    """Compile the program of `programs.buffers` with this name for the usual targets; options go to `capture_all`."""
    function, example = buffers.PROGRAMS[name]
    captures: Captures = capture_all(function, *example, **options)  # type: ignore[arg-type] # the options go to `capture_all` unchanged
    return captures


def list_allocations(program: Capture) -> Sequence[Allocation]:
    """Return the allocations in the memory plan of a program."""
    return parse_buffers(program.buffers).allocations


def count_bytes(captures: Captures, kind: str) -> dict[str, int]:
    """Return the total bytes of the allocations of one kind, such as `temporary`, by target."""
    return {target: parse_buffers(program.buffers).bytes_by_kind()[kind] for target, program in captures.items()}


def check_places(*programs: Captures) -> None:
    """Assert that every value with a live range, in some programs and in attention, has a place in the memory plan."""
    for captures in (*programs, capture_all(attention.attention, *attention.EXAMPLE)):
        for program in captures.values():
            places = {(value.instruction, value.index) for a in list_allocations(program) for value in a.values}
            assert places
            assert set(parse_live_ranges(program.live_ranges).by_value) <= places
            assert {a.kind for a in list_allocations(program)} <= {*KINDS, "thread-local"}


def _list_live_placements(program: Capture) -> list[tuple[Placement, range]]:
    """Return the placement of each temporary or result, and the range of instructions at which the value is live."""
    rows = place_buffers(parse_buffers(program.buffers), parse_live_ranges(program.live_ranges))
    return [
        # The last instruction that reads a value is a part of the live range.
        (row, range(row.start, row.end + 1))
        for row in rows
        if row.kind in {"temporary", "output"} and row.start is not None and row.end is not None
    ]


def measure_plan(program: Capture) -> tuple[int, int]:
    """Return the size of the temporary memory, and the largest sum of sizes of temporaries live at one instruction."""
    rows = [(row, live) for row, live in _list_live_placements(program) if row.kind == "temporary"]
    sums = [sum(row.size for row, live in rows if time in live) for time in {live.start for _, live in rows}]
    return max(row.offset + row.size for row, _ in rows), max(sums)


def list_conflicts(program: Capture) -> list[tuple[str, str]]:
    """Return the names of each pair of values that share bytes while both are live."""
    return [
        (one.instruction, other.instruction)
        for (one, first), (other, second) in combinations(_list_live_placements(program), 2)
        if one.allocation == other.allocation
        and max(first.start, second.start) < min(first.stop, second.stop)
        and max(one.offset, other.offset) < min(one.offset + one.size, other.offset + other.size)
    ]


def check_sharing(*captures: Capture) -> None:
    """Assert that the live ranges of two values that share bytes do not overlap, in each capture."""
    for program in captures:
        rows = place_buffers(parse_buffers(program.buffers), parse_live_ranges(program.live_ranges))
        # A value without a live range cannot be compared with others.
        ranges = [(row, row.start, row.end) for row in rows if row.start is not None and row.end is not None]
        # Each pair is compared once, in the order in which its live ranges begin.
        sharing = [
            (end, start)
            for first, began, end in ranges
            for second, start, _ in ranges
            if first.allocation == second.allocation
            and began < start
            # Two intervals overlap if each of them begins before the other one ends.
            and first.offset < second.offset + second.size
            and second.offset < first.offset + first.size
        ]
        # Without any pair of values, the next check would be empty and always pass.
        assert sharing or program.target == "h100"
        for end, start in sharing:
            assert end <= start


def check_chain(chain: Captures, places: Sequence[Decision]) -> None:
    """Assert the kinds and sizes of the allocations of the chain of matmuls on each target."""
    shared = [a for a in list_allocations(chain["cpu"]) if a.kind in {"temporary", "output"}]
    sizes = [value.size for a in shared for value in a.values]
    assert sizes == [MIB] * 2 * buffers.STEPS
    assert len(sizes) == 12
    assert chain["cpu"].memory.temporaries == MIB
    assert [a.kind for a in shared].count("temporary") == 1
    temporaries = [a for a in list_allocations(chain["tpu-v5e"]) if a.kind == "temporary"]
    assert all(value.color == 1 for a in temporaries for value in a.values if value.size > 512)
    assert len(places) == len(list_kernels(chain["tpu-v5e"])) - 1
    assert all(place.instruction in chain["tpu-v5e"].module.entry.by_name for place in places)
    (parts,) = (a for a in list_allocations(chain["h100"]) if a.kind == "temporary")
    assert parts.size == chain["h100"].memory.temporaries
    products = [value for value in parts.values if value.shape.dimensions[1:] == buffers.SQUARE.shape]
    assert len(products) == buffers.STEPS
    assert all(value.shape.dimensions[0] > 1 for value in products)


def show_lines(plans: Sequence[str], *, whole: bool) -> str:
    """Return a folded HTML table with one line of the plans for each pattern in `LINES`, and its meaning.

    Args:
        plans: The texts of memory plans.
        whole: True if the plans are those of all targets, so that each kind of line occurs; otherwise, a note
            replaces a missing line.
    """
    lines = [line.strip() for plan in plans for line in plan.splitlines()]
    rows = []
    for pattern, meaning in LINES.items():
        # Some patterns begin with a blank, but the lines are stripped.
        matching = (line for line in lines if re.search(pattern, f" {line}"))
        line = next(matching) if whole else next(matching, "only on a machine that has the compilers of all targets")
        rows.append((markdown.code(line), meaning))
    return markdown.fold("The kinds of lines and their meanings", markdown.cards(["line", "meaning"], rows))


def check_lines(plans: Iterable[str]) -> None:
    """Assert that the plans together have all kinds of allocations, and that a new dump has plan and live ranges."""
    allocations = [a for plan in plans for a in parse_buffers(plan).allocations]
    assert all(a.page == 0 for a in allocations)
    assert {a.kind for a in allocations} == {*KINDS, "thread-local"}
    with tempfile.TemporaryDirectory() as folder:
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile({"xla_dump_to": folder})
        names = [file.name for file in Path(folder).iterdir()]
    for end in ("buffer-assignment.txt", "live-range.txt"):
        assert [name for name in names if name.endswith(end)]


def check_ranges(one: Captures, chain: Captures) -> None:
    """Assert the CPU's live ranges of a layer, and the order of peak values and instructions in each capture's file."""
    plan, ranges = parse_buffers(one["cpu"].buffers), parse_live_ranges(one["cpu"].live_ranges)
    meeting = ("ynn_fusion", "broadcast_maximum_fusion")
    reader, writer = (ranges.by_value[name, ()] for name in meeting)
    assert reader.end == writer.start
    assert len({row.allocation for row in place_buffers(plan, ranges) if row.instruction in meeting}) == 1
    assert ranges.peak - plan.total == one["cpu"].memory.outputs
    to_the_end = {live.instruction for live in ranges.ranges if live.end == ranges.end}
    assert {"x.1", "w.1", "b.1", one["cpu"].module.entry.root.name} <= to_the_end
    for program in (*one.values(), *chain.values()):
        lives = parse_live_ranges(program.live_ranges)
        sizes = [size for *_, size in lives.peak_values]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) == lives.peak
        run = [name for name in lives.sequence if name in program.module.entry.by_name]
        assert run == [instruction.name for instruction in program.module.entry]


def check_peaks(gradient: Captures) -> None:
    """Assert that the gradient's memory peaks in the middle of the run, and that the peak does not exceed the plan."""
    for target, program in gradient.items():
        plan, lives = parse_buffers(program.buffers), parse_live_ranges(program.live_ranges)
        where, most = find_peak(place_buffers(plan, lives))
        assert most <= plan.total
        assert target != "h100" or most < program.memory.peak
        assert 0.3 < where / lives.end < 0.8
        assert most > 1.3 * program.memory.arguments + program.memory.outputs
