"""The question about the functions that a script, or a dump, compiles more than once, and the causes."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.recompiles.finding import explain_recompiles
    from xla_inspect.questions.recompiles.module_repeats import find_repeats
else:
    __getattr__ = lazy_names(__name__)
