"""The module of each subcommand, which is imported when the subcommand is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.commands import ask_collectives as collectives  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import ask_kernels as kernels  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import ask_memory as memory  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import ask_passes as passes  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import ask_recompiles as recompiles  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import ask_summary as summary  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import ask_why as why  # noqa: F401 - `load` finds it here
    from xla_inspect.commands import check, diff, doctor, play, read, report, show, since, targets  # noqa: F401 - `load` finds it here

_find = lazy_names(__name__)


def load(name: str) -> Any:  # noqa: ANN401 - a module
    """Return the module of a subcommand."""
    return _find(name)
