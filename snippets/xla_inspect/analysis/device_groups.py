"""The device groups of a collective, in any form that XLA prints, and their axes in a mesh."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

type Groups = tuple[tuple[int, ...], ...]
"""Groups of device numbers; the devices of one group exchange data with each other."""

_MESH = re.compile(r"mesh\[(?P<axes>[^\]]*)\]\s*(?P<ids>,?\s*device_ids=[^{]*)?\{(?P<used>[^}]*)\}")
_AXIS = re.compile(r"'(?P<name>[^']*)'=(?P<size>\d+)")
_USED = re.compile(r"'(?P<name>[^']*)'(?::\((?P<before>\d+)\)(?P<size>\d+))?")
_TILES = re.compile(r"\[(?P<groups>[\d,]+)\]<=\[(?P<sizes>[\d,]+)\](?:T\((?P<order>[\d,]+)\))?")
_LIST = re.compile(r"\{([\d,\s]+)\}")
_NAMED = re.compile(r"sdy\.mesh @[\w.]+ = <\[(?P<axes>[^\]]*)\](?:, device_ids=\[(?P<ids>[\d,\s]*)\])?>")
_NAMED_AXIS = re.compile(r'"(?P<name>[^"]*)"=(?P<size>\d+)')
_HLO_MESH = re.compile(r"sharding=\{+mesh\[(?P<axes>'[^\]]*)\]")
_SENDS = re.compile(r'_xla_send_recv_source_target_pairs="?\{(?:[\s,]*\{\d+,\s*\d+\})*')
_PAIR = re.compile(r"\{(\d+),\s*(\d+)\}")
_MOST_AXES = 10
"""The largest number of mesh axes for which groups are named, because every combination of axes is tried."""


@dataclass(frozen=True)
class Mesh:
    """The arrangement of a program's devices along named axes.

    Attributes:
        axes: The names and sizes of the axes, outermost first.
        order: The number of the device at each position; empty if the devices are in order.
    """

    axes: tuple[tuple[str, int], ...]
    order: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of devices of the mesh."""
        return math.prod(size for _, size in self.axes)

    @cached_property
    def places(self) -> dict[int, tuple[int, ...]]:
        """The coordinates of each device, by its number."""
        places = product(*(range(size) for _, size in self.axes))
        return dict(zip(self.order or range(self.size), places, strict=True))

    def name_axes(self, groups: Groups) -> tuple[str, ...]:
        """Return the axes along which the devices of each group differ; empty if the groups do not follow axes.

        A group that covers only a part of an axis, such as two of its four devices, gives `part of` the axis.
        """
        # Groups of only some devices do not follow the axes of the whole mesh.
        if {device for group in groups for device in group} != set(self.places):
            return ()
        if names := self._name_whole(groups):
            return names
        fine = self._refine()
        fine_names = fine._name_whole(groups)  # noqa: SLF001 - a mesh too
        whole = Counter(name for name, _ in fine.axes)
        parts = Counter(fine_names)
        return tuple(name if parts[name] == whole[name] else f"part of {name}" for name in parts)

    def _name_whole(self, groups: Groups) -> tuple[str, ...]:
        # Axes of size 1 never distinguish devices, so they are not part of any name.
        wide = [at for at, (_, size) in enumerate(self.axes) if size > 1]
        if len(wide) > _MOST_AXES:
            return ()
        targets = {frozenset(group) for group in groups}
        # Small combinations are tried first, so that the shortest name wins.
        for number in range(1, len(wide) + 1):
            for chosen in combinations(wide, number):
                # The product is compared first, because building the groups takes longer.
                if math.prod(self.axes[at][1] for at in chosen) == len(groups[0]) and self._group(chosen) == targets:
                    return tuple(self.axes[at][0] for at in chosen)
        return ()

    def _refine(self) -> Mesh:
        """Return the same mesh with each axis split into axes of prime size that share its name."""
        return Mesh(tuple((name, prime) for name, size in self.axes for prime in list_prime_factors(size)), self.order)

    def name_pairs(self, pairs: Iterable[tuple[int, int]]) -> tuple[str, ...]:
        """Return the axes along which the source and the target of any pair differ."""
        differing = {
            at
            for source, target in pairs
            if source in self.places and target in self.places
            for at, (here, there) in enumerate(zip(self.places[source], self.places[target], strict=True))
            if here != there
        }
        return tuple(self.axes[at][0] for at in sorted(differing))

    def _group(self, chosen: Sequence[int]) -> set[frozenset[int]]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for device, place in self.places.items():
            rest = tuple(value for at, value in enumerate(place) if at not in chosen)
            groups.setdefault(rest, []).append(device)
        return {frozenset(group) for group in groups.values()}


def find_mesh(capture: Capture, call_axes: Iterable[tuple[str, int]] = ()) -> Mesh | None:
    """Return the largest mesh with axis names in a program, or None without a mesh of several known devices.

    Args:
        capture: The capture; its StableHLO contains Shardy's meshes, and its imported module those of HLO shardings.
        call_axes: The names and sizes of axes from the call, for texts that contain no mesh.
    """
    meshes = [
        Mesh(
            tuple((axis["name"], int(axis["size"])) for axis in _NAMED_AXIS.finditer(match["axes"])),
            tuple(map(int, re.findall(r"\d+", match["ids"] or ""))),
        )
        for match in _NAMED.finditer(capture.stablehlo)
    ]
    meshes += [
        Mesh(tuple((axis["name"], int(axis["size"])) for axis in _AXIS.finditer(match["axes"])))
        for match in [_HLO_MESH.search(capture.before)]
        if match
    ]
    meshes.append(Mesh(tuple(call_axes)))
    largest = max(meshes, key=lambda mesh: mesh.size if mesh.axes else 0)
    # If the number of listed devices is not the size of the mesh, the coordinates of the devices are unknown.
    whole = not largest.order or len(largest.order) == largest.size
    return largest if largest.axes and largest.size > 1 and whole else None


def read_groups(text: str, count: int) -> Groups | None:
    """Return the groups of `replica_groups`; None if the text has an unknown form or a mesh with listed device numbers.

    Args:
        text: The printed form: `{{0,1},{2,3}}`, `[2,4]<=[4,2]T(1,0)`, `mesh['a'=4,'b'=2] {'a'}`, or `{}` for one group.
        count: The number of devices of the program.
    """
    if match := _MESH.search(text):
        # Explicit device numbers may reorder the mesh, which the groups below do not consider.
        return None if match["ids"] else _read_mesh(match["axes"], match["used"])
    if match := _TILES.match(text):
        sizes = [int(size) for size in match["sizes"].split(",")]
        order = [int(at) for at in match["order"].split(",")] if match["order"] else list(range(len(sizes)))
        devices = _transpose(sizes, order)
        length = int(match["groups"].split(",")[-1])
        return tuple(tuple(devices[at : at + length]) for at in range(0, len(devices), length))
    if groups := _LIST.findall(text):
        return tuple(tuple(int(device) for device in group.split(",")) for group in groups)
    return (tuple(range(count)),) if text.replace(" ", "") in {"", "{}"} else None


def count_group(text: str, count: int) -> int:
    """Return the number of devices in each group of `replica_groups`; without groups, all devices.

    Args:
        text: The printed form.
        count: The number of devices of the program.
    """
    if match := _MESH.search(text):
        sizes = {axis["name"]: int(axis["size"]) for axis in _AXIS.finditer(match["axes"])}
        return math.prod(int(axis["size"] or sizes[axis["name"]]) for axis in _USED.finditer(match["used"]))
    groups = read_groups(text, count)
    return len(groups[0]) if groups else count


def read_pairs(instruction: Instruction) -> tuple[tuple[int, int], ...]:
    """Return the pairs of source and target devices of a `collective-permute` or a `send`; empty for others."""
    sends = _SENDS.search(instruction.attributes.get("frontend_attributes", ""))
    text = sends[0] if sends else instruction.attributes.get("source_target_pairs", "")
    return tuple((int(source), int(target)) for source, target in _PAIR.findall(text))


def list_prime_factors(number: int) -> list[int]:
    """Return the prime factors of a positive number, the smallest first."""
    primes, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            primes.append(divisor)
            number //= divisor
        divisor += 1
    return primes


def _transpose(sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    """Return the elements of a row-major array that counts up from 0, read with its axes in another order."""
    strides = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
    return [
        sum(value * strides[at] for value, at in zip(place, order, strict=True))
        for place in product(*(range(sizes[at]) for at in order))
    ]


def _read_mesh(axes: str, selection: str) -> Groups:
    """Return the groups along axes of a mesh; an axis may be used in part, as in `'a':(2)4`."""
    parts: list[tuple[int, bool]] = []
    chosen = {match["name"]: match for match in _USED.finditer(selection)}
    for axis in _AXIS.finditer(axes):
        size, match = int(axis["size"]), chosen.get(axis["name"])
        if match is None or not match["size"]:
            parts.append((size, match is not None))
            continue
        before, extent = int(match["before"]), int(match["size"])
        # An axis that is used in part is split into three axes, and only the middle one is used.
        parts += [(before, False), (extent, True), (size // before // extent, False)]
    # With the used axes last, the devices of each group are next to each other.
    order = [at for at, (_, is_used) in enumerate(parts) if not is_used]
    order += [at for at, (_, is_used) in enumerate(parts) if is_used]
    devices = _transpose([size for size, _ in parts], order)
    length = math.prod(size for size, is_used in parts if is_used)
    return tuple(tuple(devices[at : at + length]) for at in range(0, len(devices), length))
