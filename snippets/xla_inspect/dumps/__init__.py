"""A reader of XLA's dump files as modules and captures; it does not need JAX, and it runs in a browser."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.dumps.archive import is_archive, name_archive
    from xla_inspect.dumps.dump_capture import check_module, read_capture
    from xla_inspect.dumps.dump_module import DumpedModule
    from xla_inspect.dumps.dump_path import split_dump
    from xla_inspect.dumps.file_names import FILE, PASS, strip_front
    from xla_inspect.dumps.files import Entry, Files, to_utf8
    from xla_inspect.dumps.kernel_code import COLLECT, name_object, sort_code
    from xla_inspect.dumps.mlir_content import BYTECODE, ENDINGS, is_mlir, is_mlir_file
    from xla_inspect.dumps.module_list import list_dumped, list_modules, pick_module
    from xla_inspect.dumps.module_texts import ModuleTexts, read_texts
    from xla_inspect.dumps.normalize import Frames, find_changes
    from xla_inspect.dumps.pass_record import BETWEEN, CHECKS, Record, add_files, complete, name_run, read_metadata
    from xla_inspect.dumps.thunks import read_fusion_log, read_thunks
    from xla_inspect.dumps.wrapped_text import list_fenced, unwrap_mlir
else:
    __getattr__ = lazy_names(__name__)
