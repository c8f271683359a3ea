"""Buffer assignments and live ranges are parsed and joined, or rejected with the place of the error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis.allocation import Placement
from xla_inspect.analysis.memory_plan import find_peak, live_bytes, parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.errors import HloSyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable

BUFFERS = """\
BufferAssignment:
allocation 0: size 256, page 0, output shape is |f32[64]|, maybe-live-out:
 value: <19 fusion @0> (size=256,offset=0): f32[64]{0:T(128)}
allocation 1: size 512, page 0, parameter 1, shape |(f32[128], s32[])| at ShapeIndex {0}, maybe-live-out:
 value: <14 w @0> (size=512,offset=0): f32[128]{0}
allocation 2: size 4, page 0, thread-local:
 value: <2 add @0> (size=4,offset=0): f32[]
allocation 3: size 16, page 0, constant:
 value: <3 c @0> (size=16,offset=0): f32[4]{0}
allocation 4: size 1024, color 1, page 0, preallocated-temp:
 value: <16 copy-start{0} @1> (size=512,offset=0): f32[128]{0:S(1)}
 value: <17 loop{1,0} (phi) @1> (size=512,offset=512): f32[128]{0:S(1)}
"""
RANGES = """\
HloLiveRange (max 4):
  InstructionSequence:
    0:w
    1:copy-start
    2:loop
    3:fusion
  BufferLiveRange:
    w{}:0-4
    copy-start{0}:1-2
    loop{1,0}:2-3
    fusion{}:3-4
  Live ranges at 2 (peak):
    w{}: 512 bytes (cumulative: 512 bytes)
    copy-start{0}: 512 bytes (cumulative: 1024 bytes)
    loop{1,0}: 512 bytes (cumulative: 1536 bytes)
  Stack trace breakdown for peak usage: 1 536 bytes
    main (100.0%, total: 1 536 bytes, current: 0 bytes, remaining: 1 536 bytes)
      └── w (33.3%, total: 512 bytes, current: 512 bytes, remaining: 0 bytes)
"""


def test_an_allocation_has_one_kind() -> None:
    kinds = [allocation.kind for allocation in parse_buffers(BUFFERS).allocations]
    assert kinds == ["output", "parameter", "thread-local", "constant", "temporary"]


def test_bytes_add_up_by_kind_and_by_memory_space() -> None:
    assignment = parse_buffers(BUFFERS)
    assert assignment.bytes_by_kind() == {
        "parameter": 512,
        "output": 256,
        "temporary": 1024,
        "constant": 16,
        "thread-local": 4,
    }
    assert (assignment.total, assignment.bytes_by_color()) == (1812, {0: 788, 1: 1024})


def test_a_parameter_that_the_output_reuses_is_live_out() -> None:
    allocation = parse_buffers(BUFFERS).allocations[1]
    assert (allocation.parameter, allocation.parameter_index, allocation.is_live_out) == (1, (0,), True)
    assert str(allocation.shape) == "(f32[128], s32[])"


def test_values_have_their_tuple_index_and_offset() -> None:
    first, second = parse_buffers(BUFFERS).allocations[4].values
    assert (first.instruction, first.index, first.is_phi, first.color) == ("copy-start", (0,), False, 1)
    assert (second.instruction, second.index, second.is_phi, second.offset) == ("loop", (1, 0), True, 512)


def test_live_ranges_follow_the_sequence() -> None:
    live = parse_live_ranges(RANGES)
    assert (live.end, live.sequence, live.peak_position) == (4, ("w", "copy-start", "loop", "fusion"), 2)
    assert (live.by_value["loop", (1, 0)].start, live.by_value["loop", (1, 0)].end) == (2, 3)
    assert live.peak == 1536
    assert live.breakdown.startswith("    main (100.0%")


def test_values_are_placed_in_memory_and_in_time() -> None:
    rows = place_buffers(parse_buffers(BUFFERS), parse_live_ranges(RANGES))
    assert rows[5] == Placement("loop", (1, 0), 4, "temporary", 1, 512, 512, 2, 3)
    assert [(row.instruction, row.start) for row in rows if row.start is None] == [("add", None), ("c", None)]
    assert (live_bytes(rows, 4), find_peak(rows)) == ([512, 1024, 1536, 1280, 768], (2, 1536))


def test_values_that_share_memory_are_counted_once() -> None:
    """Such values are a loop's carry and its update, an update in place, and a result in its operand's memory."""
    shared = [
        Placement("carry", (0,), 0, "temporary", 0, 0, 512, 0, 3),
        Placement("updated", (), 0, "temporary", 0, 0, 512, 1, 2),
        Placement("half", (), 0, "temporary", 0, 256, 256, 2, 2),
        Placement("beside", (), 0, "temporary", 0, 512, 128, 2, 3),
        Placement("elsewhere", (), 1, "output", 0, 0, 512, 3, 3),
    ]
    assert live_bytes(shared, 4) == [512, 512, 640, 1152, 0]
    assert find_peak(shared) == (3, 1152)
    assert find_peak([]) == (0, 0)


@pytest.mark.parametrize(
    ("parse", "text", "line", "message"),
    [
        (parse_buffers, "", 1, "expected 'BufferAssignment:'"),
        (parse_buffers, BUFFERS.replace("thread-local", "somewhere"), 6, "expected an allocation or a value"),
        (parse_buffers, BUFFERS.replace("allocation 2", "allocation 7"), 6, "expected allocation 2, found 7"),
        (parse_buffers, BUFFERS.replace("f32[4]{0}", "f32[4]{1}"), 9, "the layout {1} does not order 1 dimensions"),
        (parse_live_ranges, RANGES.replace("(max 4)", "(4)"), 1, "expected 'HloLiveRange"),
        (parse_live_ranges, RANGES.replace("    2:loop", "    3:loop"), 5, "expected position 2, found 3"),
        (parse_live_ranges, RANGES.replace("1024 b", "1025 b"), 14, "sizes add up to 1024, the text says 1025"),
        (parse_live_ranges, RANGES + "more\n", 19, "expected a live range"),
    ],
)
def test_an_unknown_memory_plan_is_rejected_with_its_line(
    parse: Callable[[str], object], text: str, line: int, message: str
) -> None:
    with pytest.raises(HloSyntaxError) as caught:
        parse(text)
    assert caught.value.line == line
    assert message in str(caught.value)


def test_the_plan_of_an_older_release_is_read_without_its_repeated_part() -> None:
    text = """\
BufferAssignment:
allocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:
 value: <1 Arg_0.1 @0> (size=16,offset=0): f32[4]{0}
allocation 1: size 8, preallocated-temp:
 value: <2 copy.1 @0> (size=8,offset=0): s32[2]{0}
"""
    older = f"{text}\nTotal bytes used: 24 (24B)\n\nUsed values:\n<1 Arg_0.1 @0>\n positions:\n  Arg_0.1\n"
    assert parse_buffers(older) == parse_buffers(text)
    assert [allocation.size for allocation in parse_buffers(older).allocations] == [16, 8]
