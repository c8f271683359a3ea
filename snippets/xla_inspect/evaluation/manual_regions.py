"""The edges of the parts of a program that are written for each device (`shard_map`), before the partitioning.

Outside of such a part, each device has the whole of each value; inside, it has its own share.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING

from xla_inspect.evaluation.device_tiles import read_tiling, split_shardings
from xla_inspect.evaluation.plain_lines import UnknownOperationError, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.evaluation.device_tiles import Tiling
    from xla_inspect.evaluation.plain_lines import PlainLines
    from xla_inspect.hlo import Instruction, Shape

ENTRIES = frozenset({"SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"})
EXITS = frozenset({"SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape"})
_MANUAL, _AXIS = re.compile(r"manual=\{([^}]*)\}"), re.compile(r"'([^']*)'")


def write_edge(
    edge: Instruction, sources: Sequence[Instruction], operands: Sequence[str], devices: int, lines: PlainLines
) -> None:
    """Add the operations with which each device takes its share of whole values, or gets the whole values again.

    The names of the operands, which the sources compute, are those in the rewritten module, with `%`.

    Raises:
        UnknownOperationError: A sharding is not understood here.
    """
    is_entry = edge.custom_call_target in ENTRIES
    shapes = edge.shape.leaves()
    texts = split_shardings(edge.attributes.get("sharding", ""), len(shapes))
    results = []
    for source, operand, shape, text in zip(sources, operands, shapes, texts, strict=True):
        sides = (source.attributes.get("sharding", ""), source.shape), (text, shape)
        (outer, whole), (inner, share) = sides if is_entry else reversed(sides)
        tiling = _find_tiling(outer, inner, whole, share, devices)
        if tiling is None:
            message = f"{edge.name}: the sharding {outer} of `{edge.custom_call_target}` is not understood here"
            raise UnknownOperationError(message)
        write = _write_share if is_entry else _write_whole
        results.append(write(operand, whole, share, tiling, lines))
    operation = f"tuple({', '.join(results)})" if edge.shape.is_tuple else f"reshape({results[0]})"
    lines.end(edge.shape.plain, operation)


def _find_tiling(outer: str, inner: str, whole: Shape, share: Shape, devices: int) -> Tiling | None:
    """Return the tiling of a value along the axes for which its share is written, or None if it is not understood."""
    match = _MANUAL.search(inner)
    if match and "device_ids" in outer:
        return None
    # Without a list of axes, these are all axes.
    tiling = read_tiling(outer, whole.rank, devices, _AXIS.findall(match[1]) if match else None)
    fits = tiling and all(
        count * part == size
        for count, part, size in zip(tiling.counts, share.dimensions, whole.dimensions, strict=True)
    )
    return tiling if fits else None


def _write_share(operand: str, _: Shape, share: Shape, tiling: Tiling, lines: PlainLines) -> str:
    """Slice a whole value at the place of the device."""
    device, zero, starts = lines.add("u32[]", "partition-id()"), lines.add("s32[]", "constant(0)"), []
    for at, (count, size) in enumerate(zip(tiling.counts, share.dimensions, strict=True)):
        if count == 1:
            starts.append(zero)
            continue
        offsets = ", ".join(str(place[at] * size) for place in tiling.places)
        table = lines.add(f"s32[{len(tiling.places)}]", f"constant({{{offsets}}})")
        start = lines.add("s32[1]", f"dynamic-slice({table}, {device}), dynamic_slice_sizes={{1}}")
        starts.append(lines.add("s32[]", f"reshape({start})"))
    sizes = join(share.dimensions)
    if not starts:
        return operand
    return lines.add(share.plain, f"dynamic-slice({', '.join([operand, *starts])}), dynamic_slice_sizes={{{sizes}}}")


def _write_whole(operand: str, whole: Shape, share: Shape, tiling: Tiling, lines: PlainLines) -> str:
    """Gather the shares of as many devices as there are tiles, and arrange them."""
    dtype, sizes, holders = share.dtype, share.dimensions, defaultdict[tuple[int, ...], list[int]](list)
    for device, place in enumerate(tiling.places):
        holders[place].append(device)
    if len(holders) == 1:
        return operand
    # In an outer part that is written for each device, devices with equal shares of it are at the same position here.
    groups = ",".join(
        f"{{{join(group)}}}" for group in zip(*(holders[place] for place in sorted(holders)), strict=True)
    )
    row = lines.add(f"{dtype}[{join((1, *sizes))}]", f"reshape({operand})")
    # Devices may run two gathers at once, which must have different channels.
    channel = zlib.crc32(row.encode()) | 1 << 32
    options = f"dimensions={{0}}, channel_id={channel}, replica_groups={{{groups}}}, use_global_device_ids=true"
    tiles = lines.add(f"{dtype}[{join((len(holders), *sizes))}]", f"all-gather({row}), {options}")
    apart = lines.add(f"{dtype}[{join((*tiling.counts, *sizes))}]", f"reshape({tiles})")
    order = [at for pair in zip(range(share.rank), range(share.rank, 2 * share.rank), strict=True) for at in pair]
    pairs = [size for pair in zip(tiling.counts, sizes, strict=True) for size in pair]
    moved = lines.add(f"{dtype}[{join(pairs)}]", f"transpose({apart}), dimensions={{{join(order)}}}")
    return lines.add(whole.plain, f"reshape({moved})")
