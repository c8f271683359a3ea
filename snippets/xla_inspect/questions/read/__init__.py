"""The question about the modules of a dump of XLA files, and the contents of one module."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.read.finding import describe_dump, list_dump
    from xla_inspect.questions.read.program_table import ProgramTable
else:
    __getattr__ = lazy_names(__name__)
