"""The questions that one asks about a program, each answered as plain data from captures, and told first line first."""

from xla_inspect.answers.answer import Answer, Hint, Part, Table
from xla_inspect.answers.collectives import Exchange, Exchanges
from xla_inspect.answers.comparison import compare_captures
from xla_inspect.answers.diagnosis import Diagnosis, TargetCheck, Trouble
from xla_inspect.answers.difference import Difference
from xla_inspect.answers.exchange_finding import find_exchanges
from xla_inspect.answers.html import write_fragment, write_page
from xla_inspect.answers.joining import Names, join_times
from xla_inspect.answers.kernel_times import KernelTimes
from xla_inspect.answers.kernels import USUAL_ROWS, Kernels, rank_launches
from xla_inspect.answers.memory import MemoryTrial, MemoryUse, explain_memory
from xla_inspect.answers.passes import CompileTimes, explain_passes
from xla_inspect.answers.recompiles import Recompiles, explain_recompiles
from xla_inspect.answers.record import describe_json, write_json
from xla_inspect.answers.summary import Summary, TargetSummary, summarize
from xla_inspect.answers.text import print_answer

__all__ = [
    "USUAL_ROWS",
    "Answer",
    "CompileTimes",
    "Diagnosis",
    "Difference",
    "Exchange",
    "Exchanges",
    "Hint",
    "KernelTimes",
    "Kernels",
    "MemoryTrial",
    "MemoryUse",
    "Names",
    "Part",
    "Recompiles",
    "Summary",
    "Table",
    "TargetCheck",
    "TargetSummary",
    "Trouble",
    "compare_captures",
    "describe_json",
    "explain_memory",
    "explain_passes",
    "explain_recompiles",
    "find_exchanges",
    "join_times",
    "print_answer",
    "rank_launches",
    "summarize",
    "write_fragment",
    "write_json",
    "write_page",
]
