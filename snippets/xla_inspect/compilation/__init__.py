"""Compilation of a program for a target into a capture of every stage: tracing, lowering, compiling and caching."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.compilation.api import JIT_OPTIONS, begin_capture, capture, capture_all, describe_program
    from xla_inspect.compilation.capture_cache import ambient_flags, hash_code, recall_text
    from xla_inspect.compilation.compiler_log import collect_log
    from xla_inspect.compilation.compiler_run import compile_lowered
    from xla_inspect.compilation.dump_compile import (
        MEMORY,
        PINNED,
        PREFIX,
        compile_with_dumps,
        list_options,
        pin_options,
        place_dumps,
        sweep_dumps,
    )
    from xla_inspect.compilation.hlo_locations import located_hlo
    from xla_inspect.compilation.jaxprs import count_primitives, read_steps, walk_equations
    from xla_inspect.compilation.logged_compile import LEVELS, LoggedProcess, list_variables
    from xla_inspect.compilation.lowering import Program, held_settings, lower, run_fresh
    from xla_inspect.compilation.meshes import make_mesh, shard
    from xla_inspect.compilation.object_code import collect_assembly, explain_no_assembly
    from xla_inspect.compilation.program_capture import capture_program
    from xla_inspect.compilation.program_files import find_function, list_defined_names, list_program_members
    from xla_inspect.compilation.program_stages import Lowered
    from xla_inspect.compilation.registers import count_registers
    from xla_inspect.compilation.sass import disassemble
    from xla_inspect.compilation.without_device import adapt_options, stand_ins
    from xla_inspect.compilation.xla_parser import RefusedHloError, read_back
    from xla_inspect.targets import USUAL
else:
    __getattr__ = lazy_names(__name__)
