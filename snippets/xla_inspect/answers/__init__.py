"""The questions that one asks about a program, each answered as plain data from captures, and told first line first."""

from xla_inspect.answers.answer import Answer, Hint, Part, Table
from xla_inspect.answers.collectives import Exchanges
from xla_inspect.answers.comparison import compare_captures
from xla_inspect.answers.difference import Difference
from xla_inspect.answers.exchange_finding import find_exchanges
from xla_inspect.answers.html import write_fragment, write_page
from xla_inspect.answers.record import describe_json, write_json
from xla_inspect.answers.summary import Summary, TargetSummary, summarize
from xla_inspect.answers.text import print_answer

__all__ = [
    "Answer",
    "Difference",
    "Exchanges",
    "Hint",
    "Part",
    "Summary",
    "Table",
    "TargetSummary",
    "compare_captures",
    "describe_json",
    "find_exchanges",
    "print_answer",
    "summarize",
    "write_fragment",
    "write_json",
    "write_page",
]
