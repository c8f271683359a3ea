"""The question about the memory that a program needs on one device, and whether it fits."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.questions.memory.finding import (
        ON_THE_WAY,
        ROLES,
        MemoryTrial,
        MemoryUse,
        explain_memory,
        find_available,
    )
    from xla_inspect.questions.memory.options import memory
else:
    __getattr__ = lazy_names(__name__)
