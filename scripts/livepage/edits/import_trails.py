"""Whether code comes to a file: by its imports, directly or not, or by naming it."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

_FREELY = ("import_module(", "__import__(", "runpy.", "exec(")
"""What imports a module by a name that is put together."""


class ImportTrails:
    """Follows imports through the modules of a folder; of a package only what is taken from it counts."""

    def __init__(self, folder: Path, tool: Collection[str] = ()) -> None:
        """Begin with nothing read.

        Args:
            folder: What is on Python's path.
            tool: The packages in it that are known to import nothing of the others.
        """
        self._folder, self._tool = folder, tool
        self._parse = cache(_read)

    def find_uses(self, file: Path) -> Callable[[str], bool]:
        """Return what says of code whether it comes to a file."""
        known: dict[tuple[Path, str], bool] = {}

        def uses(code: str) -> bool:
            return file.name in code or any(self._leads(*each, file, known) for each in _list_imports(code))

        return uses

    def _leads(self, module: str, name: str, file: Path, known: dict[tuple[Path, str], bool]) -> bool:
        if module.partition(".")[0] in self._tool:
            return False
        place = self._folder.joinpath(*module.split("."))
        if name and (found := self._locate(place / name)):
            return self._follow(found, "", file, known)
        if not (found := self._locate(place)):
            return False
        return self._follow(found, name if found.name == "__init__.py" else "", file, known)

    def _locate(self, place: Path) -> Path | None:
        """Return the file of a module or package, or None where it is none of the folder's."""
        files = (place.with_suffix(".py"), place / "__init__.py")
        return next((found for found in files if found.is_file()), None)

    def _follow(self, module: Path, name: str, file: Path, known: dict[tuple[Path, str], bool]) -> bool:
        """Return whether a module, or one name that a package takes from another, comes to a file."""
        if module == file:
            return True
        if (module, name) not in known:
            known[module, name] = False  # what imports itself in a circle comes to nothing more
            code = self._parse(module)
            imports = [*_list_imports(code)]
            taken = [each for each in imports if name and each[1] == name]
            free = not name and (file.name in code or any(sign in code for sign in _FREELY))
            known[module, name] = free or any(self._leads(*each, file, known) for each in taken or imports)
        return known[module, name]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


@cache
def _parse_imports(code: str) -> tuple[tuple[str, str], ...]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return ()
    found: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += ((node.module, alias.name) for alias in node.names)
    return tuple(found)


def _list_imports(code: str) -> Iterator[tuple[str, str]]:
    """Yield what code imports, each as a module and the name that is taken from it, or an empty one."""
    yield from _parse_imports(code)
