"""The private names of JAX and jaxlib that this package needs because no public name serves, and nothing else.

A test checks which releases of JAX have these names.
"""

from xla_inspect.jax_private.jits import JITS, is_outside, jit_again, name_source, traced_before, watch_jit
from xla_inspect.jax_private.programs import (
    CompileCall,
    compile_call,
    count_work,
    describe_compile,
    find_devices,
    find_layout,
    hide_frames_of,
    lent_client,
    lent_context,
    load_mlir,
    make_cpus,
    parse_hlo,
    place,
    replace_module,
    start_profiler,
    walk_frames,
)
from xla_inspect.jax_private.settings import (
    backends_started,
    entered_settings,
    leave_meshes,
    read_meshes,
    read_options,
    read_settings,
    set_option,
    started_on_cpu,
)

__all__ = [
    "JITS",
    "CompileCall",
    "backends_started",
    "compile_call",
    "count_work",
    "describe_compile",
    "entered_settings",
    "find_devices",
    "find_layout",
    "hide_frames_of",
    "is_outside",
    "jit_again",
    "leave_meshes",
    "lent_client",
    "lent_context",
    "load_mlir",
    "make_cpus",
    "name_source",
    "parse_hlo",
    "place",
    "read_meshes",
    "read_options",
    "read_settings",
    "replace_module",
    "set_option",
    "start_profiler",
    "started_on_cpu",
    "traced_before",
    "walk_frames",
    "watch_jit",
]
