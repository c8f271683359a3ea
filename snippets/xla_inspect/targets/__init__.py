"""The targets that programs are compiled for: their table, their environment and their devices."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names
from xla_inspect.targets import environment  # its import sets the variables that JAX and the compilers read

if TYPE_CHECKING:
    from xla_inspect.targets.devices import (
        Target,
        available,
        count_devices,
        describe_topology,
        find_plugin,
        find_target,
        forget_rocm_calls,
        knows_gpu_option,
        name_rocm_call,
    )
    from xla_inspect.targets.environment import (
        COMPILERS_FIND,
        CPUS,
        ISA,
        find_occasion,
        find_version,
        keep_devices,
        list_original,
        name_isa,
        note_changes,
        original_environment,
        restart_environment,
        settle,
        starting_environment,
    )
    from xla_inspect.targets.hardware import Hardware, Roof, explain_absence, find_hardware
    from xla_inspect.targets.labels import lane, short, title
    from xla_inspect.targets.missing_gpu import CUB_SORT, TILING_MODEL, explain_missing_gpu, explain_tiles
    from xla_inspect.targets.platforms import PLATFORMS, Terms, find_terms
    from xla_inspect.targets.table import ENTRIES, FAMILIES, TARGETS, USUAL, find_entry, place, read_spec
else:
    __getattr__ = lazy_names(__name__)
