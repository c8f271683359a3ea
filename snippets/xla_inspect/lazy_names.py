"""Lazy imports: a module's `__getattr__` that imports an exported name from its slow module at first use."""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_names(package: str) -> Callable[[str], object]:
    """Return a module's `__getattr__` for the names that it imports under `if TYPE_CHECKING:`.

    The import statements are the only list of these names. Import contracts and type checkers read the same list.

    Args:
        package: The name of the module.
    """

    @cache
    def read_places() -> dict[str, tuple[str, str]]:
        # The loader also finds the source of a package that is imported from an archive. pytest's own loader, which
        # imports the packages of plugins, has no `get_source`.
        spec: Any = sys.modules[package].__spec__
        blocks = (node for node in ast.parse(spec.loader.get_data(spec.origin)).body if isinstance(node, ast.If))
        return {
            alias.asname or alias.name: (str(node.module), alias.name)
            for block in blocks
            if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
            for node in block.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def __getattr__(name: str) -> object:  # noqa: N807 - Python requires this name
        if name == "__all__":
            return sorted(read_places())
        # Python and its tools ask a module for many names with underscores, which need no look at its source.
        if name.startswith("__") or name not in read_places():
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        module, attribute = read_places()[name]
        # The name may be an attribute of the module or, if there is none, a submodule of the package.
        if module != package and hasattr(parent := import_module(module), attribute):
            return getattr(parent, attribute)
        return import_module(f"{module}.{attribute}")

    return __getattr__
