"""The shape of one device's shard of a value, derived from the shardings of an unpartitioned module."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.hlo import Module, Shape

_TILED = re.compile(r"\{devices=\[([\d,]+)\]")
_NAMED = re.compile(
    r"\{mesh\[(?P<mesh>[^\]]*)\](?:, ?device_ids=[^\[{]*(?:\[[\d,]*\])?)?, ?\[(?P<dimensions>.*?)\](?:,|\})"
)
_AXIS = re.compile(r"'([^']*)'=(\d+)")
_PART = re.compile(r"\{([^{}]*)\}")
_USED = re.compile(r"'([^']*)'(?::\(\d+\)(\d+))?")
_WHOLE = re.compile(r"\{(?:replicated|manual|mesh\[[^\]]*\], ?(?:replicated|manual))\}")


def list_parameter_shards(module: Module) -> list[list[Shape | None]]:
    """Return, for each parameter, the shape of one device's shard of each array; None for an unknown sharding."""
    return [
        _cut_leaves(parameter.shape, parameter.attributes.get("sharding", "")) for parameter in module.entry.parameters
    ]


def list_result_shards(module: Module) -> list[Shape | None]:
    """Return the shape of one device's shard of each array of the result; None for an unknown sharding."""
    root = module.entry.root
    if sharding := root.attributes.get("sharding", ""):
        return _cut_leaves(root.shape, sharding)
    if root.opcode != "tuple":
        return _cut_leaves(root.shape, "")
    # A tuple without a sharding of its own has those of its operands.
    operands = module.operands(root)
    return [
        shard for operand in operands for shard in _cut_leaves(operand.shape, operand.attributes.get("sharding", ""))
    ]


def cut_shape(shape: Shape, sharding: str) -> Shape | None:
    """Return the shape of one device's shard of an array, or None if the form of its sharding is unknown.

    Args:
        shape: The array's global shape.
        sharding: The sharding as HLO prints it: `{devices=[4,2]<=[8]}`, `{mesh['a'=4,'b'=2], [{'a'}, {}]}`,
            `{replicated}`.
    """
    tiles = _count_tiles(sharding, shape.rank)
    if tiles is None or len(tiles) != shape.rank:
        return None
    # The partitioner pads a dimension that is not divisible, so the size of a shard is rounded up.
    sizes = tuple(-(-size // number) for size, number in zip(shape.dimensions, tiles, strict=True))
    text = shape.text.replace(f"[{','.join(map(str, shape.dimensions))}]", f"[{','.join(map(str, sizes))}]", 1)
    return replace(shape, text=text, dimensions=sizes)


def _cut_leaves(shape: Shape, sharding: str) -> list[Shape | None]:
    leaves = shape.leaves()
    texts = _split(sharding) if shape.is_tuple else [sharding]
    # One sharding may stand for all elements of a tuple.
    texts = texts * len(leaves) if len(texts) == 1 else texts
    if len(texts) != len(leaves):
        return [None] * len(leaves)
    return [cut_shape(*pair) for pair in zip(leaves, texts, strict=True)]


def _split(sharding: str) -> list[str]:
    """Split the sharding of a tuple, such as `{{replicated}, {devices=[2]<=[2]}}`, or return one for all elements."""
    if not sharding.startswith("{{"):
        return [sharding]
    parts, depth, start = [], 0, 1
    for at, character in enumerate(sharding):
        depth += (character == "{") - (character == "}")
        if character == "}" and depth == 1:
            parts.append(sharding[start : at + 1].lstrip(", "))
            start = at + 1
    # XLA numbers every fifth element of a long list with a comment such as `/*index=5*/`.
    return [re.sub(r"^/\*.*?\*/", "", part).strip() for part in parts]


def _count_tiles(sharding: str, rank: int) -> Sequence[int] | None:
    """Return the number of parts of each dimension, or None if the form of the sharding is unknown."""
    if _WHOLE.fullmatch(sharding):
        return (1,) * rank
    if match := _TILED.match(sharding):
        # The numbers after those of the value's own dimensions describe replication and subgroups.
        return [int(size) for size in match[1].split(",")][:rank]
    if match := _NAMED.match(sharding):
        sizes = {name: int(size) for name, size in _AXIS.findall(match["mesh"])}
        dimensions = [_USED.findall(part) for part in _PART.findall(match["dimensions"])]
        if all(name in sizes for axes in dimensions for name, _ in axes):
            return [math.prod(int(part or sizes[name]) for name, part in axes) for axes in dimensions]
    return None
