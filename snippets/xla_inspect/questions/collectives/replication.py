"""Replication: arguments and results that every device stores in full, and work that several devices repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_unknown_work, model_launches
from xla_inspect.answers import show_flops
from xla_inspect.plural import plural
from xla_inspect.questions.collectives.shardings import find_sharding
from xla_inspect.units import format_bytes, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.analysis import Mesh
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Shape

_IDENTITY = frozenset({"partition-id", "replica-id"})
"""Opcodes that let devices with the same arguments do different work."""
_LONG = 60
_PARAMETER, _AXIS = re.compile(r"P\((.*)\)"), re.compile(r"'([^']*)'")


@dataclass(frozen=True)
class Replication:
    """The data and work of a program that devices replicate.

    Attributes:
        devices: The number of devices that the program runs on.
        arguments: The number of arguments.
        whole: The names of the arguments that each device stores in full.
        whole_bytes: The bytes of the arguments that each device stores in full, on one device.
        argument_bytes: The bytes of all arguments, on one device.
        results: The number of results.
        whole_results: The number of results that each device stores in full.
        result_bytes: The bytes of the results that each device stores in full, on one device.
        copies: The number of devices that do the same work, 1 if each does its own, or None if it is unknown.
        flops: The operations of one device in a run of the program, if several devices do the same work; else 0.
        unknown_work: The targets of the library calls whose operations `flops` leaves out, because they are not known.
    """

    devices: int
    arguments: int
    whole: tuple[str, ...]
    whole_bytes: int
    argument_bytes: int
    results: int
    whole_results: int
    result_bytes: int
    copies: int | None
    flops: float
    unknown_work: tuple[str, ...]

    @property
    def is_total(self) -> bool:
        """True if each device stores all arguments and does all of the work."""
        return self.copies == self.devices

    @property
    def sentence(self) -> str:
        """The replicated arguments, results and operations as text, or an empty string if nothing is replicated."""
        flops = f", {show_flops(self.flops, self.unknown_work)} flops" if self.flops or self.unknown_work else ""
        if self.is_total:
            return (
                f"each of the {self.devices} devices does all of the work{flops}, and stores all of "
                f"{_count(self.arguments, 'argument')} ({format_bytes(self.whole_bytes)}) and "
                f"{_count(self.whole_results, 'result')} ({format_bytes(self.result_bytes)})"
            )
        parts = []
        if self.whole_bytes:
            names = shorten(", ".join(self.whole), _LONG)
            size = f"{format_bytes(self.whole_bytes)} of the {format_bytes(self.argument_bytes)} of its arguments"
            parts.append(f"each device stores all of {names} ({size})")
        if self.result_bytes:
            count = _count(self.results, "result")
            if self.whole_results != self.results:
                count = f"{self.whole_results} of {plural(self.results, 'result')}"
            parts.append(f"each device stores all of {count} ({format_bytes(self.result_bytes)})")
        if self.copies and self.copies > 1:
            parts.append(f"{self.copies} devices do the same part of the work{flops and f', {flops[2:]} each'}")
        return "; ".join(parts)


def find_replication(capture: Capture, mesh: Mesh | None) -> Replication | None:
    """Return the arguments, results and work that devices replicate, by comparing global shapes with those of a device.

    The result is None for a program on one device, without the unoptimized module, or if the numbers of its arguments
    or results differ between the two modules.
    """
    # Replication shows only in the comparison of the global shapes with those of one device.
    if not (capture.after and capture.before) or capture.module.num_partitions == 1:
        return None
    wholes, parts = (_list_parameters(module.entry) for module in (capture.unoptimized_module, capture.module))
    results = [list(module.entry.root.shape.leaves()) for module in (capture.unoptimized_module, capture.module)]
    # The values can be compared one by one only if the passes left their number unchanged.
    if len(wholes) != len(parts) or len(results[0]) != len(results[1]):
        return None
    pairs = list(zip(wholes, parts, strict=True))
    # A value whose shape partitioning did not change is stored in full on each device.
    alike = [part for whole, part in pairs if whole.shape.dimensions == part.shape.dimensions]
    replicated_results = [part for whole, part in zip(*results, strict=True) if whole.dimensions == part.dimensions]
    copies = _count_copies(capture, mesh, pairs)
    # The operations are reported only for work that several devices repeat.
    launched = model_launches(capture) if copies and copies > 1 else ()
    return Replication(
        devices=capture.module.num_partitions,
        arguments=len(parts),
        whole=tuple(instruction.op_name or instruction.name for instruction in alike),
        whole_bytes=_sum_bytes(instruction.shape for instruction in alike),
        argument_bytes=_sum_bytes(instruction.shape for instruction in parts),
        results=len(results[1]),
        whole_results=len(replicated_results),
        result_bytes=_sum_bytes(replicated_results),
        copies=copies,
        flops=sum(launch.total_flops for launch in launched),
        unknown_work=list_unknown_work(launched),
    )


def _list_parameters(instructions: Iterable[Instruction]) -> list[Instruction]:
    parameters = [instruction for instruction in instructions if instruction.opcode == "parameter"]
    return sorted(parameters, key=lambda instruction: instruction.parameter_number or 0)


def _sum_bytes(shapes: Iterable[Shape]) -> int:
    return sum(shape.bytes for shape in shapes)


def _count(number: int, noun: str) -> str:
    return f"the {noun}" if number == 1 else f"the {plural(number, noun)}"


def _count_copies(capture: Capture, mesh: Mesh | None, pairs: list[tuple[Instruction, Instruction]]) -> int | None:
    """Return the number of devices that have the same arguments and therefore do the same work.

    Devices with the same arguments do the same work only if they exchange nothing and no instruction reads the
    device's number; otherwise the result is None, as it is if the sharded arguments have no named axes.
    """
    devices = capture.module.num_partitions
    if any(
        instruction.opcode in _IDENTITY or instruction.opcode.startswith(("all-", "collective-"))
        for instruction in capture.module.walk()
    ):
        return None
    cut = [whole for whole, part in pairs if whole.shape.dimensions != part.shape.dimensions]
    # Without a sharded argument, every device starts from the same data.
    if not cut:
        return devices
    matches = [_PARAMETER.fullmatch(find_sharding(instruction, mesh)) for instruction in cut]
    # Shardings without names of axes do not show which devices have the same shard.
    if mesh is None or mesh.size != devices or not all(matches):
        return None
    axes = {name for match in matches if match for name in _AXIS.findall(match[1])}
    sizes = dict(mesh.axes)
    return devices // prod(sizes[name] for name in axes) if axes <= sizes.keys() else None
