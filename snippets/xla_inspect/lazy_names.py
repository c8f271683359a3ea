"""Names that a package exports and imports when they are first used, since what they need is slow to import."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package.

    Args:
        package: The package's name.
        modules: The names that it exports so, by the module of the package that defines them.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def __getattr__(name: str) -> object:  # noqa: N807 - that is what it is
        if name not in places:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return __getattr__
