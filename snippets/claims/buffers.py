"""Checks of claims about memory: reuse and aliasing."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from claims.evidence import expect, program
from claims.finding import Finding, by_target, only
from programs import disputed
from xla_inspect import capture
from xla_inspect.analysis import parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.plural import plural
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from xla_inspect import Capture


def memory_is_reused() -> Finding:
    """Return the finding on the claim that results that are not needed at the same time share memory."""

    def look(capture: Capture) -> tuple[bool, str]:
        shared = _shared(capture)
        most = max(map(len, shared), default=1)
        return most > 1, f"{plural(len(shared), 'memory location')} used by several values in turn, by up to {most}"

    return by_target(program("transformer_block"), look)


def disjoint_ranges_share() -> Finding:
    """Return the finding on the claim that some values share a memory location, all with disjoint live ranges."""
    captures = program("transformer_block")

    def look(capture: Capture) -> tuple[bool, str]:
        pairs = [pair for ranges in _shared(capture) for pair in pairwise(ranges)]
        # The end of one range may equal the start of the next, because an instruction may write over its own operand.
        apart = sum(first[1] <= second[0] for first, second in pairs)
        return 0 < apart == len(
            pairs
        ), f"of {plural(len(pairs), 'pair')} of successive values in one location, {apart} have disjoint live ranges"

    return by_target(captures, look)


def _shared(capture: Capture) -> list[list[tuple[int, int]]]:
    """Return the live ranges of the values in each shared memory location, in order of their start."""
    places: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in place_buffers(parse_buffers(capture.buffers), parse_live_ranges(capture.live_ranges)):
        # A parameter's memory belongs to the caller, and a value of size 0 needs no memory.
        if row.start is not None and row.end is not None and row.kind != "parameter" and row.size:
            places.setdefault((row.allocation, row.offset), []).append((row.start, row.end))
    return [sorted(ranges) for ranges in places.values() if len(ranges) > 1]


def reuse_is_aliasing() -> Finding:
    """Return the finding on the claim that memory is reused, and that this is called aliasing."""
    alias = program("transformer_block")["cpu"]
    expect(_donated().memory.aliased > 0, "an output uses the memory of a donated parameter")
    return memory_is_reused().but(
        alias.memory.aliased > 0, f"an alias is an output in a parameter's memory, here {alias.memory.aliased} bytes"
    )


@cache
def _donated() -> Capture:
    function, example = disputed.PROGRAMS["sin(x) * 2 + cos(x)"]
    return capture(function, *example, donate_argnums=0)


def outputs_alias_inputs() -> Finding:
    """Return the finding on the claim that an output uses an input's memory when that is safe."""
    plain, donated = program("disputed", "sin(x) * 2 + cos(x)")["cpu"], _donated()
    good = donated.memory.aliased == donated.memory.outputs > 0
    finding = only(good, f"with donation, {format_bytes(donated.memory.aliased)} are aliased").but(
        plain.memory.aliased > 0, "without donation, nothing is aliased, although the input is not read again"
    )
    aliased = {"without donation": plain.memory.aliased, "with donation": donated.memory.aliased}
    return finding.compared("bytes", plain.memory.outputs, aliased)


def fused_needs_no_temporary() -> Finding:
    """Return the finding on the claim that fused intermediates need no memory."""

    def look(capture: Capture) -> tuple[bool, str]:
        return capture.memory.temporaries == 0, f"{capture.memory.temporaries:,} bytes of temporary memory"

    return by_target(program("disputed", "sin(x) * 2 + cos(x)"), look)
