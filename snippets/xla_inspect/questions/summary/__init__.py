"""The question that compares a program on several targets: kernels, memory, collectives and work."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.summary.finding import TargetSummary, summarize
    from xla_inspect.questions.summary.options import summary
else:
    __getattr__ = lazy_names(__name__)
