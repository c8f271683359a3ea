"""The comparison of two captures: kernels, memory, collectives, code and compiler."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.diff.counts_by_line import LineCount, Tally, compare_tallies, tally
    from xla_inspect.questions.diff.difference import Difference, LineChange
    from xla_inspect.questions.diff.finding import compare_captures
    from xla_inspect.questions.diff.options import compare, diff_numbers
else:
    __getattr__ = lazy_names(__name__)
