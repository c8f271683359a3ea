"""The division of arrays among devices, as an HLO sharding describes it (`hlo_sharding.h` in XLA)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

_SINGLE = re.compile(r"\{(?:maximal device=|single_device\[device_id=)(\d+)\]?\}")
_TILES = re.compile(
    r"\{devices=\[(?P<tiles>[\d, ]+)\](?:<=\[(?P<sizes>[\d, ]+)\](?:T\((?P<order>[\d, ]+)\))?|(?P<ids>[\d,]+))"
    r"(?: last_tile_dim_replicate| last_tile_dims=\{[a-z, ]+\})?\}"
)
_MESH = re.compile(
    r"\{mesh\[(?P<axes>[^\]]*)\](?:, device_ids=\((?P<ids>[\d,]+)\))?, \[(?P<dimensions>[^\]]*)\]"
    r"(?:, (?:replicated|manual)=\{[^}]*\})*\}"
)
_REPLICATED = re.compile(r"|\{(?:mesh\[[^\]]*\](?:, device_ids=\([\d,]+\))?, )?replicated\}")
_SIZE, _DIMENSION = re.compile(r"'([^']*)'=(\d+)"), re.compile(r"\{([^}]*)\}")
_ELEMENT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
_AXIS = re.compile(r"'([^']*)'(?::\((\d+)\)(\d+))?")


@dataclass(frozen=True)
class Tiling:
    """The division of an array into tiles, each on one or several devices.

    Attributes:
        counts: The number of tiles along each dimension.
        places: For each device the number of its tile along each dimension.
        holder: The only device that has the array, or None if each device has its tile.
    """

    counts: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    holder: int | None = None

    def shrink(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a tile; the last tile of a dimension may have padding."""
        return tuple(-(-size // count) for size, count in zip(shape, self.counts, strict=True))

    def cut(self, array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """Return the tile of each device, padded with zeros; where one device has the array, the others get it, too."""
        tile = self.shrink(array.shape)
        gaps = [count * part - size for count, part, size in zip(self.counts, tile, array.shape, strict=True)]
        padded = np.pad(array, [(0, gap) for gap in gaps]) if any(gaps) else array
        return [padded[place] for place in self._list_slices(tile)]

    def join(
        self, tiles: Sequence[np.ndarray[Any, Any]], shape: Sequence[int]
    ) -> tuple[np.ndarray[Any, Any], tuple[int, ...]]:
        """Return the array of a shape from its tiles, and the devices whose copy of a tile differs from the first."""
        if self.holder is not None:
            return tiles[self.holder], ()
        whole = np.empty(
            [count * part for count, part in zip(self.counts, tiles[0].shape, strict=True)], tiles[0].dtype
        )
        slices = self._list_slices(tiles[0].shape)
        for place, tile in reversed([*zip(slices, tiles, strict=True)]):
            whole[place] = tile
        differing = [whole[place].tobytes() != tile.tobytes() for place, tile in zip(slices, tiles, strict=True)]
        return whole[tuple(map(slice, shape))], tuple(np.flatnonzero(differing).tolist())

    def _list_slices(self, tile: Sequence[int]) -> list[tuple[slice, ...]]:
        return [
            tuple(slice(number * size, (number + 1) * size) for number, size in zip(place, tile, strict=True))
            for place in self.places
        ]


def read_tiling(text: str, rank: int, devices: int, axes: Container[str] | None = None) -> Tiling | None:
    """Return the division of an array, or None if it is not understood here.

    Args:
        text: The sharding as HLO text, such as `{devices=[2,4]<=[8]}`; the partitioner replicates a value without one.
        rank: The number of the array's dimensions.
        devices: The number of devices.
        axes: The axes of the mesh that are considered, or None for all.
    """
    whole = (1,) * rank, ((0,) * rank,) * devices
    if _REPLICATED.fullmatch(text):
        return Tiling(*whole)
    if (match := _SINGLE.fullmatch(text)) and int(match[1]) < devices:
        return Tiling(*whole, int(match[1]))
    if (match := _MESH.fullmatch(text)) is not None:
        return _read_mesh(match, rank, devices, axes)
    match = _TILES.fullmatch(text)
    if match is None or axes is not None or "unreduced" in text:
        return None
    tiles = _read_numbers(match["tiles"])
    ids = np.array(_read_numbers(match["ids"])) if match["ids"] else np.arange(devices)
    if len(tiles) < rank or not np.prod(tiles) == ids.size == devices:
        return None
    if match["sizes"]:
        ids = ids.reshape(_read_numbers(match["sizes"]))
        ids = ids.transpose(_read_numbers(match["order"])) if match["order"] else ids
    # The dimensions of the tiles beyond those of the array count copies.
    numbers = np.indices(tiles)[:rank].reshape(rank, -1)
    return _arrange(tiles[:rank], numbers, ids.ravel())


def split_shardings(text: str, count: int) -> list[str]:
    """Return the sharding of each of `count` elements of a tuple; a text that is no tuple holds for all of them."""
    inside = text[1:-1].strip()
    return _ELEMENT.findall(inside) if inside.startswith("{") else [text] * count


def list_groups(text: str) -> str:
    """Return device groups of whole axes, such as `mesh['a'=2,'b'=2] {'a'}`, as lists of devices, others unchanged."""
    mesh, _, used = text.rpartition(" ")
    if not mesh.startswith("mesh[") or ":(" in used:
        return text
    axes = dict(_SIZE.findall(mesh))
    others = ",".join(f"'{name}'" for name in axes if f"'{name}'" not in used)
    tiling = read_tiling(f"{{{mesh}, [{used}, {{{others}}}]}}", 2, math.prod(map(int, axes.values())))
    groups: dict[int, list[str]] = {}
    for device, (_, group) in sorted(enumerate(tiling.places if tiling else ()), key=lambda pair: pair[1]):
        groups.setdefault(group, []).append(str(device))
    lists = ",".join(f"{{{','.join(group)}}}" for group in groups.values())
    return f"{{{lists}}}" if groups else text


def _read_mesh(match: re.Match[str], rank: int, devices: int, axes: Container[str] | None) -> Tiling | None:
    names, sizes = zip(*_SIZE.findall(match["axes"]), strict=True) if match["axes"] else ((), ())
    sizes = tuple(map(int, sizes))
    ids = np.array(_read_numbers(match["ids"])) if match["ids"] else np.arange(devices)
    dimensions = _DIMENSION.findall(match["dimensions"])
    if len(dimensions) != rank or not np.prod(sizes, dtype=int) == ids.size == devices:
        return None
    positions = dict(zip(names, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    counts, numbers = [1] * rank, np.zeros((rank, devices), int)
    for at, dimension in enumerate(dimensions):
        for name, before, part in _AXIS.findall(dimension):
            if axes is not None and name not in axes:
                continue
            size = sizes[names.index(name)]
            # `'a':(2)4` is the part of size 4 of an axis behind a part of size 2.
            count = int(part or size)
            number = positions[name] // (size // (int(before or 1) * count)) % count
            counts[at], numbers[at] = counts[at] * count, numbers[at] * count + number
    return _arrange(counts, numbers, ids)


def _arrange(counts: Sequence[int], numbers: np.ndarray[Any, Any], ids: np.ndarray[Any, Any]) -> Tiling:
    """Return the tiling in which a device of `ids` has the tile whose numbers are in the same column."""
    ordered = numbers[:, np.argsort(ids)]
    return Tiling(tuple(counts), tuple(tuple(map(int, place)) for place in ordered.T))


def _read_numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]
