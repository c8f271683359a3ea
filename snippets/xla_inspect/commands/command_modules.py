"""The modules of the subcommands that are not questions, imported when the subcommand is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.commands import check, diff, doctor, play, read, report, show, since, targets  # noqa: F401 - `load_command` finds them here

_find = lazy_names(__name__)


def load_command(name: str) -> Any:  # noqa: ANN401 - a module
    """Import and return the module of a subcommand that is not a question."""
    return _find(name)
