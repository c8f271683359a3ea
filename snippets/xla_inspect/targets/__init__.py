"""The targets that programs are compiled for: one table of them, the environment that they need, and their devices."""

from xla_inspect.targets.devices import (
    TILING_MODEL,
    Target,
    available,
    count_devices,
    describe_topology,
    explain_tiles,
    find,
    knows_gpu_option,
)
from xla_inspect.targets.environment import (
    COMPILERS_FIND,
    CPUS,
    ISA,
    PACKAGES,
    find_occasion,
    find_version,
    name_isa,
    settle,
    simulate_cpus,
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
    "TILING_MODEL",
    "Target",
    "available",
    "count_devices",
    "describe_topology",
    "explain_tiles",
    "find",
    "find_entry",
    "find_occasion",
    "find_version",
    "knows_gpu_option",
    "name_isa",
    "place",
    "read_spec",
    "settle",
    "simulate_cpus",
]
