"""The flow of a module's values from their origins to their users."""

from xla_inspect.analysis.value_flow.flow import Maker, ValueFlow
from xla_inspect.analysis.value_flow.renaming import (
    COPYING,
    RENAMING,
    REWRITING,
    is_passed_on,
    search,
    skip_renaming,
    walk_inside,
)

__all__ = [
    "COPYING",
    "RENAMING",
    "REWRITING",
    "Maker",
    "ValueFlow",
    "is_passed_on",
    "search",
    "skip_renaming",
    "walk_inside",
]
