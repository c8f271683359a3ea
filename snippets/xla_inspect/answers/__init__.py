"""The questions that one asks about a program, each answered as plain data from captures, and told first line first."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.answers.missing_parts import list_absences, tell_absences
    from xla_inspect.answers.answer import Answer
    from xla_inspect.answers.answer_parts import Part, Table
    from xla_inspect.answers.change_effects import Effect, find_effect
    from xla_inspect.answers.comparison import compare_captures
    from xla_inspect.answers.copies import Copy, list_copies
    from xla_inspect.answers.counts_by_line import LineCount, Tally, compare_tallies, tally
    from xla_inspect.answers.diagnosis import Diagnosis, TargetCheck, Trouble
    from xla_inspect.answers.difference import Difference, LineChange
    from xla_inspect.answers.dump_table import describe_dump, list_dump
    from xla_inspect.answers.exchange import Exchange
    from xla_inspect.answers.exchange_finding import find_exchanges
    from xla_inspect.answers.exchanges import Exchanges
    from xla_inspect.answers.answer_html import write_fragment, write_page
    from xla_inspect.answers.joining import Names, join_times
    from xla_inspect.answers.kernel_times import KernelTimes
    from xla_inspect.answers.kernels import USUAL_ROWS, Kernels, rank_launches
    from xla_inspect.answers.machine_code import MachineCode, explain_code
    from xla_inspect.answers.memory import ROLES, MemoryTrial, MemoryUse
    from xla_inspect.answers.memory_finding import explain_memory
    from xla_inspect.answers.module_repeats import find_repeats
    from xla_inspect.answers.open_questions import OpenQuestions, list_open_questions
    from xla_inspect.answers.passes import CompileTimes, explain_passes
    from xla_inspect.answers.recompiles import explain_recompiles
    from xla_inspect.answers.answer_json import describe_json, write_json
    from xla_inspect.answers.release_changes import explain_release_change, explain_release_failure
    from xla_inspect.answers.release_history import ReleaseChange, ReleaseHistory, ReleaseRow
    from xla_inspect.answers.selection import Selector
    from xla_inspect.answers.summary import Summary, TargetSummary, summarize
    from xla_inspect.answers.answer_text import print_answer
    from xla_inspect.answers.why import Finding, Why, WhyTrial
    from xla_inspect.answers.why_finding import WhyFinder
else:
    __getattr__ = lazy_names(__name__)

__all__ = [
    "ROLES",
    "USUAL_ROWS",
    "Answer",
    "CompileTimes",
    "Copy",
    "Diagnosis",
    "Difference",
    "Effect",
    "Exchange",
    "Exchanges",
    "Finding",
    "KernelTimes",
    "Kernels",
    "LineChange",
    "LineCount",
    "MachineCode",
    "MemoryTrial",
    "MemoryUse",
    "Names",
    "OpenQuestions",
    "Part",
    "ReleaseChange",
    "ReleaseHistory",
    "ReleaseRow",
    "Selector",
    "Summary",
    "Table",
    "Tally",
    "TargetCheck",
    "TargetSummary",
    "Trouble",
    "Why",
    "WhyFinder",
    "WhyTrial",
    "compare_captures",
    "compare_tallies",
    "describe_dump",
    "describe_json",
    "explain_code",
    "explain_memory",
    "explain_passes",
    "explain_recompiles",
    "explain_release_change",
    "explain_release_failure",
    "find_effect",
    "find_exchanges",
    "find_repeats",
    "join_times",
    "list_absences",
    "list_copies",
    "list_dump",
    "list_open_questions",
    "print_answer",
    "rank_launches",
    "summarize",
    "tally",
    "tell_absences",
    "write_fragment",
    "write_json",
    "write_page",
]
