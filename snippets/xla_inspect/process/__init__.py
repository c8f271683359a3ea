"""Processes that run code apart from this one: started, limited, ended with their parent, and their end explained."""

from xla_inspect.process.child import Child, Limits
from xla_inspect.process.endings import REASONS, explain_end, find_line, name_end

__all__ = ["REASONS", "Child", "Limits", "explain_end", "find_line", "name_end"]
