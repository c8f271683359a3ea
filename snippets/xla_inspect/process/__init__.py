"""Child processes with resource limits that end with their parent, and explanations of their ends."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.process.child import RUN_MODULE, Child
    from xla_inspect.process.endings import REASONS, explain_end, find_line, name_end
    from xla_inspect.process.forked import STACKS, ForkedProcess, preload
    from xla_inspect.process.limits import Limits, count_memory, kill_below, list_below, measure_own_memory
else:
    __getattr__ = lazy_names(__name__)
