"""The flow of a module's values from their origins to their users."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
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
else:
    __getattr__ = lazy_names(__name__)
