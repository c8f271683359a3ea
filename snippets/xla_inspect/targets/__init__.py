"""The targets that programs are compiled for: one table of them, the environment that they need, and their devices."""

from xla_inspect.targets.devices import Target, available, count_devices, describe_topology, find
from xla_inspect.targets.environment import (
    COMPILERS_FIND,
    CPUS,
    ISA,
    PACKAGES,
    find_occasion,
    find_version,
    keep_devices,
    list_original,
    name_isa,
    note_changes,
    original_environment,
    settle,
    starting_environment,
)
from xla_inspect.targets.table import ENTRIES, FAMILIES, TARGETS, find_entry, place, read_spec

__all__ = [
    "COMPILERS_FIND",
    "CPUS",
    "ENTRIES",
    "FAMILIES",
    "ISA",
    "PACKAGES",
    "TARGETS",
    "Target",
    "available",
    "count_devices",
    "describe_topology",
    "find",
    "find_entry",
    "find_occasion",
    "find_version",
    "keep_devices",
    "list_original",
    "name_isa",
    "note_changes",
    "original_environment",
    "place",
    "read_spec",
    "settle",
    "starting_environment",
]
