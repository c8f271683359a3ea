"""The text of shardings, meshes and device groups (hlo_sharding.cc, mesh_and_axis.cc and replica_group.cc in XLA)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo import escape
from xla_inspect.hlo_proto.dimension_text import join_numbers, list_numbers
from xla_inspect.hlo_proto.field_text import form_of
from xla_inspect.hlo_proto.message import refuse
from xla_inspect.hlo_proto.metadata_text import write_metadata
from xla_inspect.hlo_proto.shape_text import number_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo_proto.message import Message

_WORDS = frozenset({"REPLICATED", "MANUAL", "UNKNOWN", "UNREDUCED"})
_LAST = frozenset({"MANUAL", "MAXIMAL", "REPLICATED", "UNREDUCED"})
_LONGEST_AXIS = 256


@form_of("OpSharding")
def write_sharding(sharding: Message) -> str:
    """Return the text of an `OpSharding`: `{devices=[2,4]<=[8]}`."""
    kind, devices = sharding.type, sharding.tile_assignment_devices
    if kind == "TUPLE":
        return f"{{{number_items(map(write_sharding, sharding.tuple_shardings))}}}"
    if "named_sharding" in sharding:
        return f"{{{', '.join(_write_named(sharding.named_sharding))}}}"
    if kind in _WORDS:
        words = [kind.lower()]
    elif len(devices) == 1:
        words = [f"maximal device={devices[0]}"]
    else:
        words = [*_write_tiles(sharding, devices)]
    if sharding.is_shard_group:
        words.append(f"shard_{sharding.shard_group_type.lower()} {sharding.shard_group_id}")
    if texts := [write_metadata(part) or "{}" for part in sharding.metadata]:
        words.append(f"metadata={texts[0] if len(texts) == 1 else f'{{{", ".join(texts)}}}'}")
    return f"{{{' '.join(words)}}}"


def _write_tiles(sharding: Message, devices: Sequence[int]) -> Iterator[str]:
    iota = _write_iota(sharding) if sharding.iota_reshape_dims else join_numbers(devices)
    yield f"devices=[{join_numbers(sharding.tile_assignment_dimensions)}]{iota}"
    if sharding.replicate_on_last_tile_dim:
        yield "last_tile_dim_replicate"
    # XLA itself prints `error_type.` for a kind that is not allowed here.
    if last := [name.lower() if name in _LAST else "error_type." for name in sharding.last_tile_dims]:
        yield f"last_tile_dims={{{', '.join(last)}}}"


def _write_iota(iota: Message) -> str:
    """Return the text of a device order that is a reshaped and transposed iota: `<=[2,4]T(1,0)`."""
    sizes = iota.iota_reshape_dims
    return f"<=[{join_numbers(sizes)}]" + (f"T({join_numbers(iota.iota_transpose_perm)})" if len(sizes) > 1 else "")


def _write_named(sharding: Message) -> Iterator[str]:
    mesh, dimensions = sharding.mesh, sharding.dim_shardings
    axes = {
        "replicated": _write_axes(sharding.replicated_axes, mesh),
        "unreduced": _write_axes(sharding.unreduced_axes, mesh),
        "manual": _write_axes(sharding.manual_axes, mesh),
    }
    reduction = sharding.reduction_op.lower() if "reduction_op" in sharding else ""
    yield _write_mesh(mesh)
    # The mesh of a single device describes the whole sharding.
    if not mesh.axes and mesh.device_ids:
        pass
    elif not dimensions and not any(axes.values()):
        yield "replicated"
    elif not dimensions and len(axes["unreduced"]) == len(mesh.axes):
        yield f"unreduced={reduction}" if reduction else "unreduced"
    elif not dimensions and len(axes["manual"]) == len(mesh.axes):
        yield "manual"
    else:
        yield f"[{', '.join(_write_dimension(dimension, mesh) for dimension in dimensions)}]"
        for key, names in axes.items():
            if names:
                yield f"{key}={reduction if key == 'unreduced' else ''}{{{', '.join(names)}}}"
    if sharding.metadata:
        yield f"metadata={{{', '.join(write_metadata(part) or '{}' for part in sharding.metadata)}}}"


def _write_dimension(dimension: Message, mesh: Message) -> str:
    return f"{{{', '.join(_write_axes(dimension.axes, mesh) + ([] if dimension.is_closed else ['?']))}}}"


def _write_axes(axes: Sequence[Message], mesh: Message) -> list[str]:
    return [_write_axis(axis, mesh.axes) for axis in axes]


def _write_axis(axis: Message, axes: Sequence[Message]) -> str:
    number, part = axis.mesh_axis_index, axis.sub_axis_info
    if not 0 <= number < len(axes):
        refuse(f"a sharding names axis {number} of a mesh of {len(axes)}")
    name = _quote(axes[number].name)
    return f"{name}:({part.pre_size}){part.size}" if "sub_axis_info" in axis else name


def _write_mesh(mesh: Message) -> str:
    devices = mesh.device_ids
    if not mesh.axes and devices:
        return f"single_device[device_id={devices[0]}]"
    names = ",".join(f"{_quote(axis.name)}={axis.size}" for axis in mesh.axes)
    return f"mesh[{names}]" + (f", device_ids=({join_numbers(devices)})" if devices else "")


def _quote(name: str) -> str:
    if len(name) > _LONGEST_AXIS:
        refuse(f"an axis has a name of {len(name):,} characters")
    return f"'{escape(name)}'"


@form_of("groups")
def write_groups(instruction: Message) -> str:
    """Return the text of a collective's device groups: `{{0,1},{2,3}}`, `[2,4]<=[8]`, or axes of a mesh."""
    device_list, names = instruction.collective_device_list, instruction.mesh_axes_replica_group_list
    if iota := instruction.iota_collective_device_list or device_list.iota_replica_group_list:
        return f"[{iota.num_replica_groups},{iota.num_devices_per_group}]{_write_iota(iota)}"
    if "mesh_axes_replica_group_list" in instruction:
        return f"{_write_mesh(names.mesh)} {{{','.join(_write_axes(names.axes, names.mesh))}}}"
    groups = device_list.replica_groups or instruction.replica_groups
    return f"{{{','.join(list_numbers(group.replica_ids) for group in groups)}}}"


@form_of("domain")
def write_domain(instruction: Message) -> str:
    """Return the text of the shardings on both sides of a domain."""
    # XLA prints the exit sharding under `entry` and the entry sharding under `exit`.
    entry, leaving = instruction.domain_entry_sharding, instruction.domain_exit_sharding
    return f'{{kind="sharding", entry={write_sharding(leaving)}, exit={write_sharding(entry)}}}'
