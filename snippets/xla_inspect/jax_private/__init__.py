"""The private names of JAX and jaxlib that this package needs because no public name serves, and nothing else.

A test checks which releases of JAX have these names.
"""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.jax_private.execution import compile_hlo, run_executable
    from xla_inspect.jax_private.jits import JITS, is_outside, jit_again, name_source, traced_before, watch_jit
    from xla_inspect.jax_private.library_versions import assume_libraries
    from xla_inspect.jax_private.plugins import describe_devices, name_processor, register_stand_in
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
        serialize,
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
    from xla_inspect.jax_private.stablehlo_call import (
        call_stablehlo,
        evaluate_size,
        find_main,
        list_element_types,
        list_symbols,
        load_stablehlo,
        make_context,
        put_module,
        refine_shapes,
        run_pass,
        update_type,
        write_bytecode,
    )
else:
    __getattr__ = lazy_names(__name__)
