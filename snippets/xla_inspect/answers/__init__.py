"""The questions that one asks about a program, each answered as plain data from captures, and told first line first."""

from xla_inspect.answers.answer import Answer, Hint, Part, Table
from xla_inspect.answers.html import write_fragment, write_page
from xla_inspect.answers.passes import CompileTimes, explain_passes
from xla_inspect.answers.record import describe_json, write_json
from xla_inspect.answers.summary import Summary, TargetSummary, summarize
from xla_inspect.answers.text import print_answer

__all__ = [
    "Answer",
    "CompileTimes",
    "Hint",
    "Part",
    "Summary",
    "Table",
    "TargetSummary",
    "describe_json",
    "explain_passes",
    "print_answer",
    "summarize",
    "write_fragment",
    "write_json",
    "write_page",
]
