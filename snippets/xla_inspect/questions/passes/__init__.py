"""The question about compile time: phases, passes and the parts of the program that cause the work."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.passes.finding import explain_passes
    from xla_inspect.questions.passes.options import passes
else:
    __getattr__ = lazy_names(__name__)
