"""The question about the time of a step: an estimate with a range, by line of Python and by kind of work."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.time.finding import NO_CPU, TimeEstimate, estimate_time, time_lines
    from xla_inspect.questions.time.options import time
    from xla_inspect.questions.time.rendering import NOT_MODELLED
else:
    __getattr__ = lazy_names(__name__)
