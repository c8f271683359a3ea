"""Shardings, meshes and groups of devices, as XLA writes them (hlo_sharding.cc, mesh_and_axis.cc, replica_group.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo import escape
from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.metadata_text import write_metadata
from xla_inspect.hlo_proto.schema import DEEPEST, MalformedProtoError, decode, name_value
from xla_inspect.hlo_proto.shape_text import number_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORDS = {"REPLICATED": "replicated", "MANUAL": "manual", "UNKNOWN": "unknown", "UNREDUCED": "unreduced"}
_LAST = {"MANUAL", "MAXIMAL", "REPLICATED", "UNREDUCED"}
_LONGEST_AXIS = 256


def write_sharding(data: bytes, depth: int = 0) -> str:
    """Return the text of an `OpSharding`: `{devices=[2,4]<=[8]}`.

    Raises:
        MalformedProtoError: It is no such message.
    """
    if depth >= DEEPEST:
        message = f"shardings nest deeper than {DEEPEST} levels"
        raise MalformedProtoError(message)
    sharding = decode("OpSharding", data)
    kind = name_value("OpSharding.Type", sharding.get("type", 0))
    if kind == "TUPLE":
        parts = (write_sharding(part, depth + 1) for part in sharding.get("tuple_shardings", ()))
        return f"{{{number_items(parts)}}}"
    if "named_sharding" in sharding:
        return _write_named(decode("NamedShardingProto", sharding["named_sharding"]))
    devices = sharding.get("tile_assignment_devices", ())
    if kind in _WORDS:
        words = [_WORDS[kind]]
    elif len(devices) == 1:
        words = [f"maximal device={devices[0]}"]
    else:
        words = _write_tiles(sharding, devices)
    if sharding.get("is_shard_group"):
        group = name_value("OpSharding.ShardGroupType", sharding.get("shard_group_type", 0)).lower()
        words.append(f"shard_{group} {sharding.get('shard_group_id', 0)}")
    if metadata := sharding.get("metadata"):
        texts = [write_metadata(part) for part in metadata]
        words.append(f"metadata={{{texts[0] if len(texts) == 1 else ', '.join(f'{{{text}}}' for text in texts)}}}")
    return f"{{{' '.join(words)}}}"


def _write_tiles(sharding: dict[str, Any], devices: Sequence[int]) -> list[str]:
    sizes = ",".join(map(str, sharding.get("tile_assignment_dimensions", ())))
    iota = sharding.get("iota_reshape_dims")
    words = [
        f"devices=[{sizes}]" + (_write_iota(iota, sharding.get("iota_transpose_perm", ())) if iota else _join(devices))
    ]
    if sharding.get("replicate_on_last_tile_dim"):
        words.append("last_tile_dim_replicate")
    if last := sharding.get("last_tile_dims"):
        names = [name_value("OpSharding.Type", number) for number in last]
        words.append(f"last_tile_dims={{{', '.join(n.lower() if n in _LAST else 'error_type.' for n in names)}}}")
    return words


def _write_iota(sizes: Sequence[int], order: Sequence[int]) -> str:
    return f"<=[{_join(sizes)}]" + (f"T({_join(order)})" if len(sizes) > 1 else "")


def _join(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _write_named(sharding: dict[str, Any]) -> str:
    mesh = decode("MeshProto", sharding.get("mesh", b""))
    axes = {
        name: [_write_axis(part, mesh) for part in sharding.get(f"{name}_axes", ())]
        for name in ("replicated", "unreduced", "manual")
    }
    whole, operation = len(mesh.get("axes", ())), sharding.get("reduction_op", 0)
    how = name_value("NamedShardingProto.ReductionOpProto", operation).lower() if operation else ""
    dimensions = [decode("NamedShardingProto.DimensionSharding", part) for part in sharding.get("dim_shardings", ())]
    fields = [_write_mesh(mesh)]
    if not mesh.get("axes") and mesh.get("device_ids"):
        pass
    elif not dimensions and not any(axes.values()):
        fields.append("replicated")
    elif not dimensions and len(axes["unreduced"]) == whole:
        fields.append(f"unreduced={how}" if how else "unreduced")
    elif not dimensions and len(axes["manual"]) == whole:
        fields.append("manual")
    else:
        fields.append(f"[{', '.join(_write_dimension(dimension, mesh) for dimension in dimensions)}]")
        marks = {"unreduced": how}
        fields += [f"{name}={marks.get(name, '')}{{{', '.join(found)}}}" for name, found in axes.items() if found]
    if metadata := sharding.get("metadata"):
        fields.append(f"metadata={{{', '.join(f'{{{write_metadata(part)}}}' for part in metadata)}}}")
    return f"{{{', '.join(fields)}}}"


def _write_dimension(dimension: dict[str, Any], mesh: dict[str, Any]) -> str:
    axes = [_write_axis(part, mesh) for part in dimension.get("axes", ())]
    return f"{{{', '.join(axes if dimension.get('is_closed') else [*axes, '?'])}}}"


def _write_axis(data: bytes, mesh: dict[str, Any]) -> str:
    axis = decode("AxisRefProto", data)
    names, number = mesh.get("axes", ()), axis.get("mesh_axis_index", 0)
    if not 0 <= number < len(names):
        message = f"a sharding names axis {number} of a mesh of {len(names)}"
        raise MalformedProtoError(message)
    name = decode("MeshProto.MeshAxis", names[number]).get("name", "")
    if len(name) > _LONGEST_AXIS:
        message = f"an axis has a name of {len(name):,} characters"
        raise MalformedProtoError(message)
    name = _quote(name)
    if "sub_axis_info" not in axis:
        return name
    part = decode("AxisRefProto.SubAxis", axis["sub_axis_info"])
    return f"{name}:({part.get('pre_size', 0)}){part.get('size', 0)}"


def _write_mesh(mesh: dict[str, Any]) -> str:
    axes = [decode("MeshProto.MeshAxis", part) for part in mesh.get("axes", ())]
    devices = mesh.get("device_ids", ())
    if not axes and devices:
        return f"single_device[device_id={devices[0]}]"
    names = ",".join(f"{_quote(axis.get('name', ''))}={axis.get('size', 0)}" for axis in axes)
    return f"mesh[{names}]" + (f", device_ids=({_join(devices)})" if devices else "")


def _quote(name: str) -> str:
    return f"'{escape(name)}'"


def write_groups(instruction: Mapping[str, Any]) -> str:
    """Return the groups of devices of a collective: `{{0,1},{2,3}}`, `[2,4]<=[8]` or by axes of a mesh."""
    listed = decode("CollectiveDeviceListProto", instruction.get("collective_device_list", b""))
    iota_list = instruction.get("iota_collective_device_list") or listed.get("iota_replica_group_list")
    if iota_list:
        iota = decode("IotaReplicaGroupListProto", iota_list)
        shape = f"[{iota.get('num_replica_groups', 0)},{iota.get('num_devices_per_group', 0)}]"
        return shape + _write_iota(iota.get("iota_reshape_dims", ()), iota.get("iota_transpose_perm", ()))
    if "mesh_axes_replica_group_list" in instruction:
        named = decode("MeshAxesReplicaGroupListProto", instruction["mesh_axes_replica_group_list"])
        mesh = decode("MeshProto", named.get("mesh", b""))
        return f"{_write_mesh(mesh)} {{{','.join(_write_axis(part, mesh) for part in named.get('axes', ()))}}}"
    groups = listed.get("replica_groups") or instruction.get("replica_groups", ())
    inner = (list_numbers(decode("ReplicaGroup", part).get("replica_ids", ())) for part in groups)
    return f"{{{','.join(inner)}}}"
