"""The project's packages: their public names, the imports between them, and a picture of their dependencies."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.report import Box, draw_boxes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = (ROOT / "snippets" / "xla_inspect", ROOT / "snippets" / "chapters", ROOT / "scripts" / "livepage")
_IMPORTERS = tuple(ROOT / name for name in ("docs", "scripts", "snippets", "tests"))
_BLOCK = re.compile(r"^(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
_NAMES = r"\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*"
_IMPORT = re.compile(rf"^ *from (?:xla_inspect|chapters|livepage)\b[\w.]* import (?:\([^)]*\)|{_NAMES})$", re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """One name that a file imports from a module, with its place in the file."""

    place: str
    path: Path
    module: str
    name: str


def module_name(path: Path) -> str:
    """Return the dotted name of a module's file, such as `xla_inspect.hlo.parser`."""
    base = next(package.parent for package in PACKAGES if path.is_relative_to(package))
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


@cache
def list_modules() -> dict[str, Path]:
    """Return the path of every module of the packages, by its dotted name."""
    return {module_name(path): path for package in PACKAGES for path in sorted(package.rglob("*.py"))}


@cache
def list_packages() -> dict[str, frozenset[str]]:
    """Return the names that each package exports: those in its `__all__`, or else those that it imports lazily."""
    names_by_package = {}
    for name, path in list_modules().items():
        if path.name == "__init__.py":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                    names_by_package[name] = frozenset(ast.literal_eval(node.value))
                elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and node.orelse:
                    imports = [statement for statement in node.body if isinstance(statement, ast.ImportFrom)]
                    names_by_package[name] = frozenset(
                        alias.asname or alias.name for statement in imports for alias in statement.names
                    )
    return names_by_package


def find_package(module: str) -> str | None:
    """Return the name of the innermost package that contains a module, or None."""
    names = [room for room in list_packages() if module == room or module.startswith(f"{room}.")]
    return max(names, key=len, default=None)


def find_package_of_file(path: Path) -> str | None:
    """Return the package of a file, or for a test the package that it tests; None for pages and other scripts."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] in {"docs", "scripts"} and "livepage" not in parts:
        return None
    return find_package(".".join(parts[1:]))


def list_imports(folders: Iterable[Path] = _IMPORTERS) -> Iterator[Import]:
    """Yield every import of a name from the packages in the folders' modules, notebooks and blocks of pages."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix == ".py":
                yield from _read(path, path.read_text(encoding="utf-8"), 0)
            elif path.suffix == ".md":
                text = path.read_text(encoding="utf-8")
                for block in _BLOCK.finditer(text):
                    for statement in _IMPORT.finditer(block["code"]):
                        start = text.count("\n", 0, block.start("code") + statement.start())
                        yield from _read(path, statement.group().strip(), start, block["code"])


@lru_cache(maxsize=5000)  # while the site is served, each edit of a page reads all files again
def _read(path: Path, code: str, lines_before: int, whole: str = "") -> tuple[Import, ...]:
    """Return the imports of names in a file's code, and the names that it uses with a dot of imported packages."""
    return tuple(_find_imports(path, code, lines_before, whole or code))


def _find_imports(path: Path, code: str, lines_before: int, whole: str) -> Iterator[Import]:
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and not node.level
            and node.module.partition(".")[0] in {package.name for package in PACKAGES}
        ):
            place = f"{path.relative_to(ROOT)}:{lines_before + node.lineno}"
            for alias in node.names:
                yield Import(place, path, node.module, alias.name)
                # An imported name may be a package, whose names the file then uses with a dot.
                if (room := f"{node.module}.{alias.name}") in list_packages():
                    for name in set(re.findall(rf"(?<![\w./-]){alias.asname or alias.name}\.([A-Za-z_]\w*)", whole)):
                        if f"{room}.{name}" not in list_modules():
                            yield Import(place, path, room, name)


def find_docstring(room: str, name: str) -> str | None:
    """Return the documentation of a package's public name, its docstring or the string below a constant, or None."""
    tree = _parse(list_modules()[room].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in list_modules():
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    inner = f"{node.module}.{alias.name}"
                    if inner in list_modules():
                        return ast.get_docstring(_parse(list_modules()[inner].read_text(encoding="utf-8")))
                    # Another package re-exports the name, so the search continues in that package.
                    if list_modules()[node.module].name == "__init__.py" and node.module != room:
                        return find_docstring(node.module, alias.name)
                    return _docstring(_parse(list_modules()[node.module].read_text(encoding="utf-8")), alias.name)
    return _docstring(tree, name)


@lru_cache(maxsize=1000)  # enough for all modules
def _parse(code: str) -> ast.Module:
    return ast.parse(code)


def _docstring(tree: ast.Module, name: str) -> str | None:
    # Python attaches no docstring to a constant, so the string in the next statement is its documentation.
    for node, below in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return ast.get_docstring(node)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.TypeAlias) and name in _list_targets(node):
            value = below.value if isinstance(below, ast.Expr) else None
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
    return None


def _list_targets(node: ast.Assign | ast.AnnAssign | ast.TypeAlias) -> set[str]:
    """Return the names that an assignment binds, including those of `a, b = ...`."""
    # A type alias stores its name under `name`, an annotated assignment under `target`.
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", getattr(node, "name", None))]
    return {name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)}


def describe_package(room: str) -> str:
    """Return the first line of a package's docstring."""
    return (ast.get_docstring(_parse(list_modules()[room].read_text(encoding="utf-8"))) or "").partition("\n")[0]


def list_dependencies() -> set[tuple[str, str]]:
    """Return pairs (user, used package) without `xla_inspect` itself; imports for type annotations count too."""
    # Tests and pages also import packages, but only the packages' own modules depend on each other.
    uses = ((find_package_of_file(statement.path), statement.module) for statement in list_imports(PACKAGES))
    inside = {
        (user, dependency) for user, dependency in uses if user in list_packages() and dependency in list_packages()
    }
    return {
        (str(user), dependency)
        for user, dependency in inside
        if user != dependency and "xla_inspect" not in {user, dependency}
    }


def sort_packages(arrows: Iterable[tuple[str, str]]) -> list[str]:
    """Return packages in an order in which each comes before those that it uses.

    Raises:
        graphlib.CycleError: Packages depend on each other in a cycle.
    """
    users: dict[str, list[str]] = {}
    for user, dependency in sorted(arrows):
        users.setdefault(dependency, []).append(user)
        users.setdefault(user, [])
    return list(TopologicalSorter(users).static_order())


def draw_packages(arrows: Iterable[tuple[str, str]], caption: str) -> str:
    """Return a picture of the packages as HTML, each below those that use it.

    Args:
        arrows: The dependencies. An arrow that others imply is omitted.
        caption: The caption of the picture.
    """
    arrows = set(arrows)
    names = sort_packages(arrows)
    below: dict[str, set[str]] = {}
    # In the reversed order, a package comes after those that it uses, whose sets are then complete.
    for name in reversed(names):
        direct = {dependency for user, dependency in arrows if user == name}
        below[name] = direct.union(*(below[dependency] for dependency in direct))
    edges = [
        (names.index(user), names.index(dependency))
        for user, dependency in sorted(arrows)
        if not any(dependency in below[other] for other in {end for start, end in arrows if start == user})
    ]
    boxes = [
        Box(
            "other",
            is_result=False,
            lines=((name.removeprefix("xla_inspect."), ()),),
            labels=(),
            tooltip=describe_package(name),
        )
        for name in names
    ]
    return draw_boxes(boxes, sorted(edges), caption)
