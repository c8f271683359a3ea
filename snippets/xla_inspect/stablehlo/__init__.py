"""Programs that exist as StableHLO: texts, bytecode and portable artifacts of MLIR, and the files of `jax.export`."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.stablehlo.module_call import fill_sizes, make_call
    from xla_inspect.stablehlo.module_file import StablehloFile, find_file, has_programs, list_files
    from xla_inspect.stablehlo.parsing import Array, list_functions, read_module
else:
    __getattr__ = lazy_names(__name__)
