"""Shardings in the notation of a JAX program, such as `P('data', None)`, and the constraints of a program."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_frame, find_mesh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.analysis import Mesh
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

_NAMED = re.compile(r"\{mesh\[[^\]]*\],\s*\[(?P<dimensions>.*?)\](?:,|\})")
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_AXIS = re.compile(r"'([^']*)'(:\(\d+\)\d+)?")
_TILED = re.compile(r"\{devices=\[(?P<tiles>[\d,]+)\]<=\[(?P<sizes>[\d,]+)\](?:T\((?P<order>[\d,]+)\))?(?P<rest>.*?)\}")
_PARTS, _NAMES = re.compile(r"None|'[^']*'|\([^)]*\)"), re.compile(r"'([^']*)'")


def explain_constraints(capture: Capture) -> tuple[str, ...]:
    """Return a sentence about each `with_sharding_constraint` that pads a value, or has no effect without a mesh."""
    if not capture.before or (mesh := find_mesh(capture)) is None:
        return ()
    steps = (step for step in capture.unoptimized_module.walk() if step.custom_call_target == "Sharding")
    # The backward pass repeats the constraints of the forward pass.
    return tuple(dict.fromkeys(filter(None, (_explain_constraint(capture, step, mesh) for step in steps))))


def _explain_constraint(capture: Capture, constraint: Instruction, mesh: Mesh) -> str:
    spec, frame, shape = find_sharding(constraint, mesh), find_frame(capture, constraint), constraint.shape
    what = f"{f'{frame.file.rpartition("/")[2]}:{frame.line}: the' if frame else 'The'} constraint {spec}"
    axes = [_NAMES.findall(part) for part in _PARTS.findall(spec[2:-1])]
    # A part of an axis has no size here.
    counts = [math.prod(dict(mesh.axes).get(name, 1) for name in names) for names in axes]
    if max(counts, default=1) > 1 and capture.unoptimized_module.num_partitions == 1:
        flag = ",".join(f"{name}={length}" for name, length in mesh.axes)
        return f"{what} has no effect, because no mesh is set; pass --mesh {flag}, or call jax.set_mesh."
    for at, (size, count) in enumerate(zip(shape.dimensions, counts, strict=False)):
        if size % count:
            have = f"{size} {'elements' if at else 'rows'}, and {' and '.join(axes[at])} has {count} devices"
            pads = f"XLA pads the dimension to {-(-size // count) * count}, {-(-size // count)} for each device"
            return f"{what} does not divide {shape.plain}: dimension {at} has {have}. JAX accepts this, and {pads}."
    return ""


def find_sharding(instruction: Instruction, mesh: Mesh | None) -> str:
    """Return the sharding of a value as text, such as `P('data', None)`, or an empty string if it has none.

    Args:
        instruction: An instruction of a module from before the partitioner.
        mesh: The mesh that names the axes.
    """
    return name_sharding(instruction.attributes.get("sharding", ""), mesh)


def name_sharding(text: str, mesh: Mesh | None) -> str:
    """Return an HLO sharding as a `PartitionSpec`, or unchanged if no `PartitionSpec` describes it.

    Args:
        text: A sharding such as `{mesh['a'=4,'b'=2], [{'a'}, {}]}` or `{devices=[4,2]<=[8]}`.
        mesh: The mesh that names the axes.
    """
    # `P()` is JAX's notation for a value that no axis shards.
    if text == "{replicated}":
        return "P()"
    if match := _NAMED.match(text):
        return _spell([_AXIS.findall(part) for part in _DIMENSION.findall(match["dimensions"])])
    if (match := _TILED.match(text)) and mesh is not None:
        return _name_tiles(match, mesh) or text
    return text


def _spell(dimensions: Sequence[Sequence[tuple[str, str]]]) -> str:
    parts = []
    for axes in dimensions:
        names = [f"'{name}{part}'" for name, part in axes]
        parts.append("None" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})")
    return f"P({', '.join(parts)})"


def _name_tiles(match: re.Match[str], mesh: Mesh) -> str:
    """Return a tiled sharding as a `PartitionSpec`, or an empty string if the tiles follow no axes of the mesh."""
    tiles = [int(size) for size in match["tiles"].split(",")]
    sizes = [int(size) for size in match["sizes"].split(",")]
    # A sharding for another number of devices cannot follow the axes of this mesh.
    if math.prod(tiles) != mesh.size or math.prod(sizes) != mesh.size:
        return ""
    # Without a transposition, the devices are in the order of their numbers.
    order = [int(at) for at in match["order"].split(",")] if match["order"] else list(range(len(sizes)))
    strides = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
    devices = [
        sum(value * strides[at] for value, at in zip(place, order, strict=True))
        for place in product(*(range(sizes[at]) for at in order))
    ]
    # The sharding lists the devices in the order of its tiles.
    tile_of = dict(zip(devices, product(*map(range, tiles)), strict=True))
    # The last dimension of the tiles may count copies instead of shards.
    rank = len(tiles) - ("last_tile_dim" in match["rest"])
    axes_by_dimension = [_find_axes(mesh, tile_of, at, tiles[at]) for at in range(rank)]
    return (
        "" if None in axes_by_dimension else _spell([[(name, "") for name in axes or ()] for axes in axes_by_dimension])
    )


def _find_axes(mesh: Mesh, tile_of: Mapping[int, tuple[int, ...]], at: int, size: int) -> tuple[str, ...] | None:
    """Return the axes whose coordinates form the tile index along a dimension, outermost first, or None if none do."""
    device_at = {place: device for device, place in mesh.places.items()}
    origin = (0,) * len(mesh.axes)
    strides: list[tuple[int, str]] = []
    for number, (name, length) in enumerate(mesh.axes):
        # The tile of the next device along an axis shows if the axis shards the dimension.
        step = (*origin[:number], 1, *origin[number + 1 :])
        # An axis of size 1 shards nothing.
        if length > 1 and (moved := tile_of[device_at[step]][at] - tile_of[device_at[origin]][at]):
            strides.append((moved, name))
    # The outermost axis of a dimension has the largest step between its shards.
    strides.sort(reverse=True)
    total = math.prod(dict(mesh.axes)[name] for _, name in strides)
    return tuple(name for _, name in strides) if total == size and all(moved > 0 for moved, _ in strides) else None
