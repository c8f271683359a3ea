"""What instructions between devices say of themselves after their operands (xla/hlo/ir/hlo_instructions.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.hlo_proto.dimension_text import list_numbers
from xla_inspect.hlo_proto.schema import decode
from xla_inspect.hlo_proto.sharding_text import write_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# The fields of an instruction that are set, by name.
type Fields = Mapping[str, Any]


def write_dimension(fields: Fields) -> Iterator[str]:
    """Yield the one dimension that an instruction names."""
    yield f"dimensions={{{find_first(fields)}}}"


def find_first(fields: Fields) -> int:
    """Return the first dimension that an instruction names, or 0."""
    return next(iter(fields.get("dimensions", ())), 0)


def write_flags(fields: Fields, *names: str) -> Iterator[str]:
    """Yield the names of the fields that are set."""
    for name in names:
        if fields.get(name):
            yield f"{name}=true"


def _channel(fields: Fields) -> Iterator[str]:
    if (channel := fields.get("channel_id", 0)) > 0:
        yield f"channel_id={channel}"


def _collective(fields: Fields) -> Iterator[str]:
    yield from _channel(fields)
    yield f"replica_groups={write_groups(fields)}"
    yield from write_flags(fields, "constrain_layout")


def _rooted(fields: Fields) -> Iterator[str]:
    yield from _collective(fields)
    yield f"has_dynamic_root={'true' if fields.get('has_dynamic_root') else 'false'}"


def _all_gather(fields: Fields) -> Iterator[str]:
    yield from _collective(fields)
    yield from write_dimension(fields)
    yield from write_flags(fields, "use_global_device_ids")


def _all_reduce(fields: Fields) -> Iterator[str]:
    yield from _collective(fields)
    yield from write_flags(fields, "use_global_device_ids")


def _reduce_scatter(fields: Fields) -> Iterator[str]:
    yield from _all_reduce(fields)
    yield from write_dimension(fields)


def _all_to_all(fields: Fields) -> Iterator[str]:
    yield from _collective(fields)
    if fields.get("dimensions"):
        yield from write_dimension(fields)


def _permute(fields: Fields) -> Iterator[str]:
    yield from _channel(fields)
    pairs = [decode("SourceTarget", part) for part in fields.get("source_target_pairs", ())]
    inner = ",".join(f"{{{pair.get('source', 0)},{pair.get('target', 0)}}}" for pair in pairs)
    yield f"source_target_pairs={{{inner}}}"
    if sizes := fields.get("dynamic_slice_sizes"):
        rank = fields["rank"] or len(sizes)
        groups = (sizes[at : at + rank] for at in range(0, len(sizes), rank))
        yield f"slice_sizes={{{','.join(map(list_numbers, groups))}}}"


def _transfer(fields: Fields) -> Iterator[str]:
    yield from _channel(fields)
    yield from write_flags(fields, "is_host_transfer")


COLLECTIVES: Mapping[str, Callable[[Fields], Iterator[str]]] = {
    **dict.fromkeys(("all-gather", "all-gather-start"), _all_gather),
    **dict.fromkeys(("all-reduce", "all-reduce-start"), _all_reduce),
    **dict.fromkeys(("collective-broadcast", "collective-reduce"), _rooted),
    **dict.fromkeys(("collective-permute", "collective-permute-start"), _permute),
    **dict.fromkeys(("send", "send-done", "recv", "recv-done"), _transfer),
    "all-to-all": _all_to_all,
    "ragged-all-to-all": _collective,
    "reduce-scatter": _reduce_scatter,
}
"""What writes the attributes of each opcode."""
