"""The tables and checks of the chapter on buffers: the memory plan, and live ranges."""

from __future__ import annotations

import re
import tempfile
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
    from xla_inspect.analysis import Allocation
    from xla_inspect.analysis.reasons import Decision

MIB = 1 << 20
KINDS = ("parameter", "output", "temporary", "constant")
LINES = {
    r"allocation \d+: .*, parameter \d+, shape .*ShapeIndex \{\}:$": (
        "An argument. The caller owns this memory, so nothing else may be put there. <code>ShapeIndex</code> says"
        " which element of the parameter it is when that is a tuple."
    ),
    r"output shape is .*maybe-live-out:": (
        "The result. <code>maybe-live-out</code>: what lies here may be read after the program has ended."
    ),
    r"parameter \d+, .*maybe-live-out:": (
        "An argument that was donated: the result is written over it, so it is live when the program ends."
    ),
    r"preallocated-temp:": (
        "Temporary memory, set aside before the first kernel starts. Small and large values are packed into it."
    ),
    r", constant:": "A constant of the program. It is part of the executable and is never written.",
    r", thread-local:": (
        "A value inside a function that a kernel calls for each element, such as the addition of a reduction."
        " It lives in a register or on a stack, and no memory is planned for it."
    ),
    r"color 1,": (
        "<code>color</code> is the memory space. Without it: the device's main memory. On a TPU <code>color 1</code>"
        " is the vector memory on the chip, which layouts mark <code>S(1)</code>."
    ),
    r" value: <\d+ ynn_fusion @0>": (
        "A value: its number, the instruction that makes it, the memory space after <code>@</code>, its size,"
        " where in the allocation it starts, and its shape with the layout."
    ),
    r" value: <.*offset=[1-9]": (
        "A value that does not start at the front of its allocation: others live there at the same time."
    ),
    r" value: <\d+ \S+\{\d\}": "One element of a result that is a tuple, by its number in braces.",
    r" value: .*\(phi\)": (
        "A value that is one of several: what a loop carries is the first value or the last iteration's. XLA has put"
        " both in one place, so that nothing is copied from iteration to iteration."
    ),
}
"""By pattern of a line of a memory plan, its meaning as HTML."""


def compile_buffers(name: str, **options: object) -> Captures:
    """Return a program of `buffers` for the usual targets."""
    function, example = buffers.PROGRAMS[name]
    compiled: Captures = capture_all(function, *example, **options)  # type: ignore[arg-type] # passed on as they are
    return compiled


def list_allocations(found: Capture) -> Sequence[Allocation]:
    """Return the allocations of the memory plan."""
    return parse_buffers(found.buffers).allocations


def count_bytes(captures: Captures, kind: str) -> dict[str, int]:
    """Return the bytes of the allocations of a kind by target."""
    return {target: parse_buffers(found.buffers).bytes_by_kind()[kind] for target, found in captures.items()}


def check_places(*programs: Captures) -> None:
    """Check that every instruction of some programs, and of attention, has its place in the plan."""
    for captures in (*programs, capture_all(attention.attention, *attention.EXAMPLE)):
        for found in captures.values():
            placed = {(value.instruction, value.index) for a in list_allocations(found) for value in a.values}
            assert placed
            assert set(parse_live_ranges(found.live_ranges).by_value) <= placed
            assert {a.kind for a in list_allocations(found)} <= {*KINDS, "thread-local"}


def check_sharing(*captures: Capture) -> None:
    """Check that of two values that share bytes one ends before the other begins."""
    for found in captures:
        rows = place_buffers(parse_buffers(found.buffers), parse_live_ranges(found.live_ranges))
        ended = [(row, row.start, row.end) for row in rows if row.start is not None and row.end is not None]
        sharing = [
            (end, start)
            for first, began, end in ended
            for second, start, _ in ended
            if first.allocation == second.allocation
            and began < start
            and first.offset < second.offset + second.size
            and second.offset < first.offset + first.size
        ]
        assert sharing or found.target == "h100"
        for end, start in sharing:
            assert end <= start


def check_chain(chain: Captures, places: Sequence[Decision]) -> None:
    """Check the allocations of the chain of matmuls on each target.

    Args:
        chain: Its captures.
        places: The TPU's decisions about places in fast memory.
    """
    shared = [a for a in list_allocations(chain["cpu"]) if a.kind in {"temporary", "output"}]
    sizes = [value.size for a in shared for value in a.values]
    assert sizes == [MIB] * 2 * buffers.STEPS
    assert len(sizes) == 12
    assert chain["cpu"].memory.temporaries == MIB
    assert [a.kind for a in shared].count("temporary") == 1
    temporaries = [a for a in list_allocations(chain["tpu-v5e"]) if a.kind == "temporary"]
    assert all(value.color == 1 for a in temporaries for value in a.values if value.size > 512)
    assert len(places) == len(list_kernels(chain["tpu-v5e"])) - 1
    assert all(each.instruction in chain["tpu-v5e"].module.entry.by_name for each in places)
    (parts,) = (a for a in list_allocations(chain["h100"]) if a.kind == "temporary")
    assert parts.size == chain["h100"].memory.temporaries
    products = [value for value in parts.values if value.shape.dimensions[1:] == buffers.SQUARE.shape]
    assert len(products) == buffers.STEPS
    assert all(value.shape.dimensions[0] > 1 for value in products)


def show_lines(plans: Sequence[str], *, whole: bool) -> str:
    """Return one line of each kind with its meaning, folded.

    Args:
        plans: The texts of memory plans.
        whole: Whether they are those of all targets, so that each kind occurs.
    """
    lines = [line.strip() for plan in plans for line in plan.splitlines()]
    rows = []
    for pattern, meaning in LINES.items():
        matching = (line for line in lines if re.search(pattern, f" {line}"))
        line = next(matching) if whole else next(matching, "only where all targets are")
        rows.append((markdown.code(line), meaning))
    return markdown.fold("Each kind of line, and what it says", markdown.cards(["line", "what it says"], rows))


def check_lines(plans: Iterable[str]) -> None:
    """Check the kinds of allocations in some plans, and that a dump has the plan and the live ranges."""
    allocations = [a for plan in plans for a in parse_buffers(plan).allocations]
    assert all(a.page == 0 for a in allocations)
    assert {a.kind for a in allocations} == {*KINDS, "thread-local"}
    with tempfile.TemporaryDirectory() as folder:
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile({"xla_dump_to": folder})
        written = [file.name for file in Path(folder).iterdir()]
    for end in ("buffer-assignment.txt", "live-range.txt"):
        assert [name for name in written if name.endswith(end)]


def check_ranges(one: Captures, chain: Captures) -> None:
    """Check the CPU's live ranges of a layer, and that each file lists the peak in order and the program as it runs."""
    plan, ranges = parse_buffers(one["cpu"].buffers), parse_live_ranges(one["cpu"].live_ranges)
    meeting = ("ynn_fusion", "broadcast_maximum_fusion")
    read, written = (ranges.by_value[name, ()] for name in meeting)
    assert read.end == written.start
    assert len({row.allocation for row in place_buffers(plan, ranges) if row.instruction in meeting}) == 1
    assert ranges.peak - plan.total == one["cpu"].memory.outputs
    to_the_end = {live.instruction for live in ranges.ranges if live.end == ranges.end}
    assert {"x.1", "w.1", "b.1", one["cpu"].module.entry.root.name} <= to_the_end
    for found in (*one.values(), *chain.values()):
        lives = parse_live_ranges(found.live_ranges)
        listed = [size for *_, size in lives.peak_values]
        assert listed == sorted(listed, reverse=True)
        assert sum(listed) == lives.peak
        run = [name for name in lives.sequence if name in found.module.entry.by_name]
        assert run == [each.name for each in found.module.entry]


def check_peaks(gradient: Captures) -> None:
    """Check where most bytes live in the gradient, and that they are no more than are allocated."""
    for target, found in gradient.items():
        plan, lives = parse_buffers(found.buffers), parse_live_ranges(found.live_ranges)
        where, most = find_peak(place_buffers(plan, lives))
        assert most <= plan.total
        assert target != "h100" or most < found.memory.peak
        assert 0.3 < where / lives.end < 0.8
        assert most > 1.3 * found.memory.arguments + found.memory.outputs
