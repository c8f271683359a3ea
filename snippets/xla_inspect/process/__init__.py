"""Processes that run code apart from this one: started, limited, ended with their parent, and their end explained."""

from xla_inspect.process.child import RUN_MODULE, Child
from xla_inspect.process.endings import REASONS, explain_end, find_line, name_end
from xla_inspect.process.family import count_memory, list_below, measure_own_memory
from xla_inspect.process.forked import STACKS, ForkedProcess, preload
from xla_inspect.process.limits import Limits

__all__ = [
    "REASONS",
    "RUN_MODULE",
    "STACKS",
    "Child",
    "ForkedProcess",
    "Limits",
    "count_memory",
    "explain_end",
    "find_line",
    "list_below",
    "measure_own_memory",
    "name_end",
    "preload",
]
