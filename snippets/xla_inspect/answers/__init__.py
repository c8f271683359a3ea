"""The questions that one asks about a program, each answered as plain data from captures, and told first line first."""

from xla_inspect.answers.answer import Answer, Hint, Part, Table
from xla_inspect.answers.html import write_fragment, write_page
from xla_inspect.answers.joining import Names, join_times
from xla_inspect.answers.kernel_times import KernelTimes
from xla_inspect.answers.kernels import USUAL_ROWS, Kernels, rank_launches
from xla_inspect.answers.record import describe_json, write_json
from xla_inspect.answers.summary import Summary, TargetSummary, summarize
from xla_inspect.answers.text import print_answer

__all__ = [
    "USUAL_ROWS",
    "Answer",
    "Hint",
    "KernelTimes",
    "Kernels",
    "Names",
    "Part",
    "Summary",
    "Table",
    "TargetSummary",
    "describe_json",
    "join_times",
    "print_answer",
    "rank_launches",
    "summarize",
    "write_fragment",
    "write_json",
    "write_page",
]
