"""The estimated time of a collective from its bytes, its group of devices, and the links between them.

The formulas are those of the Scaling Book (https://jax-ml.github.io/scaling-book/sharding/): a collective needs the
time of its bytes at the rate of all links that its group uses, or that of its hops if it has few bytes. They are lower
bounds, which real collectives exceed: NCCL reaches 60 to 90 percent of the rate of NVLink for large messages, and RCCL
about 70 percent of that of Infinity Fabric between eight MI300X.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xla_inspect.analysis import read_groups, read_pairs
from xla_inspect.analysis.estimates.compiler_figures import SOL
from xla_inspect.analysis.estimates.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.analysis import Collective
    from xla_inspect.analysis.estimates.device_rates import DeviceRates

HOP = Estimate(0.5e-6, 1e-6, 2e-6)
"""The time of one hop between neighboring chips of a TPU: the likely one is that of the Scaling Book."""

START = Estimate(8e-6, 15e-6, 30e-6)
"""The time of a collective without bytes between GPUs of one machine, which grows with the steps of its algorithm."""

LINK_SHARES = {"tpu": (0.97, 0.79, 0.58), "gpu": (0.9, 0.75, 0.5)}
"""The share of the links' rate that collectives reach, at best, usually and at worst."""


def time_collective(
    collective: Collective, rates: DeviceRates, devices: int, models: Mapping[str, float]
) -> Estimate | None:
    """Return the estimated time of one run of a collective, or None without published rates of the links."""
    group = collective.group
    if collective.kind != "collective-permute" and group < 2:  # noqa: PLR2004 - a group of one exchanges nothing
        return Estimate()
    if rates.kind == "tpu":
        if not rates.link:
            return None
        seconds, hops = _time_on_grid(collective, rates.grid, rates.link, rates.wrap)
        return Estimate.at_shares(seconds, LINK_SHARES["tpu"]).longer(HOP * hops)
    if not (rates.fabric and rates.network):
        return None
    groups = read_groups(collective.instruction.attributes.get("replica_groups", ""), devices) or (range(group),)
    # The members of a group in one machine share its network, and send the same data to other machines only once.
    near = sum(member // rates.domain == groups[0][0] // rates.domain for member in groups[0])
    start = START if group <= near else START * 2
    seconds = collective.sent_bytes / rates.fabric
    if group > near:
        across = (1 - near / group) / (1 - 1 / group)
        seconds = max(seconds, collective.sent_bytes * across / (near * rates.network))
    estimate = start + Estimate.at_shares(seconds, LINK_SHARES["gpu"])
    # The compiler's tables hold measured collectives of an H100 with NVLink, but not all kinds.
    sol = models.get(SOL, 0.0)
    if estimate.low / 2 < sol < 2 * estimate.high:
        likely = math.sqrt(estimate.likely * sol)
        estimate = Estimate(min(estimate.low, sol), likely, max(estimate.high, sol))
    return estimate


def name_links(collective: Collective, rates: DeviceRates, devices: int) -> tuple[str, ...]:
    """Return the names of the links that a collective uses; two collectives without a common link run at the same time.

    A TPU has links in both directions along each axis of its grid, whose devices are assumed to be numbered row by row.
    The collectives of a GPU run one after the other, in one stream.
    """
    if rates.kind != "tpu":
        return ("links",)
    pairs = read_pairs(collective.instruction)
    groups = pairs or read_groups(collective.instruction.attributes.get("replica_groups", ""), devices) or ()
    group = groups[0] if groups else tuple(range(devices))
    places = [_find_place(device * math.prod(rates.grid) // devices, rates.grid) for device in group]
    axes = [axis for axis in range(len(rates.grid)) if len({place[axis] for place in places}) > 1]
    if pairs and len(axes) == 1:
        # A permutation along one axis uses one direction: the shorter way around the ring.
        axis = axes[0]
        step = (places[1][axis] - places[0][axis]) % rates.grid[axis]
        return (f"axis {axis} {'+' if step <= rates.grid[axis] / 2 else '-'}",)
    return tuple(f"axis {axis} {way}" for axis in axes for way in "+-") or ("links",)


def _find_place(chip: int, grid: Sequence[int]) -> tuple[int, ...]:
    """Return the coordinates of a chip in a grid that is numbered row by row."""
    return tuple(chip // math.prod(grid[axis + 1 :]) % size for axis, size in enumerate(grid))


def _time_on_grid(collective: Collective, grid: Sequence[int], link: float, wrap: int) -> tuple[float, int]:
    """Return the seconds at the full rate of the links that a group uses, and the number of hops.

    The devices are assumed to be arranged as by `jax.make_mesh`, so that a group covers whole axes of the grid if its
    size allows it, and otherwise a part of one axis.
    """
    paths, hops, longest, rest = 0, 0, 1, collective.group
    for size in sorted((size for size in grid if size > 1), key=lambda size: (rest != size, -size)):
        places = math.gcd(rest, size)
        if places > 1:
            is_ring = places == size and size % wrap == 0
            paths += 2 if is_ring else 1
            hops += size // 2 if is_ring else places - 1
            longest, rest = max(longest, places), rest // places
    paths = paths or 1
    if collective.kind == "collective-permute":
        return collective.operand_bytes / link, 1
    if collective.kind in {"all-to-all", "ragged-all-to-all"}:
        # Each byte travels over a quarter of a ring on average, or a third of a line.
        return collective.operand_bytes * longest / 4 / (paths * link), hops
    return collective.sent_bytes / (paths * link), hops
