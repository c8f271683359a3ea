"""The code that a check depends on: the page's statements that define its names, and the project's helpers."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SCOPES = (ast.Module, ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

type _Origin = tuple[Path, str]
"""A module of helpers and a name in it; an empty name means the module itself."""


@dataclass(frozen=True)
class Namespace:
    """The names of a page or a module.

    Attributes:
        statements: For each name, the statements that bind it or change its contents.
        imports: For each imported name, the module of helpers that it comes from.
    """

    statements: Mapping[str, tuple[ast.stmt, ...]]
    imports: Mapping[str, _Origin]


def normalize_code(code: str) -> str:
    """Return code without layout, comments, docstrings and imports; code that is not Python stays unchanged."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code.strip()
    return "\n".join(
        _strip(ast.unparse(node)) for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)
    )


@cache
def _strip(code: str) -> str:
    return ast.unparse(_Bare().visit(ast.parse(code)))


class _Bare(ast.NodeTransformer):
    """The transformer that removes docstrings."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body = node.body[ast.get_docstring(node) is not None :] or [ast.Pass()]
        return node


def rename_variables(code: str) -> str:
    """Return code with its variables numbered, so that renaming a variable makes no difference.

    Each function, lambda and comprehension is a scope of its own. Functions, fields of classes, parameters that a call
    passes by name, and names that the code does not assign stay unchanged.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code
    keywords = {part.arg for part in ast.walk(tree) if isinstance(part, ast.keyword)}
    _rename(tree, {}, keywords, itertools.count())
    return ast.unparse(tree)


def _rename(node: ast.AST, scope: Mapping[str, str], keywords: set[str | None], numbers: Iterator[int]) -> None:
    if isinstance(node, _SCOPES):
        own = [name for name in dict.fromkeys(_list_own(node)) if name not in keywords]
        scope = {**scope, **{name: f"variable{next(numbers)}" for name in own}}
    if isinstance(node, ast.Name):
        node.id = scope.get(node.id, node.id)
    elif isinstance(node, ast.arg):
        node.arg = scope.get(node.arg, node.arg)
    for child in ast.iter_child_nodes(node):
        _rename(child, scope, keywords, numbers)


def _list_own(node: ast.AST) -> Iterator[str]:
    """Yield the names that a scope binds, excluding the scopes and classes inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.arg):
            yield child.arg
        if not isinstance(child, (*_SCOPES, ast.ClassDef)):
            yield from _list_own(child)


def read_namespace(codes: Iterable[str], folders: tuple[Path, ...]) -> Namespace:
    """Return the names that code defines, and the names that it imports from folders of helpers.

    Args:
        codes: The blocks of a page, or the text of a module.
        folders: The folders whose modules are helpers.
    """
    statements: dict[str, list[ast.stmt]] = {}
    imports: dict[str, _Origin] = {}
    for code in codes:
        try:
            body = ast.parse(code).body
        except SyntaxError:
            continue
        for node in body:
            if isinstance(node, ast.ImportFrom):
                imports |= dict(_follow(node, folders))
            for name in _list_bound(node):
                statements.setdefault(name, []).append(node)
    return Namespace({name: tuple(nodes) for name, nodes in statements.items()}, imports)


def _follow(node: ast.ImportFrom, folders: tuple[Path, ...]) -> Iterator[tuple[str, _Origin]]:
    """Yield the helpers that a statement imports, with the names that they get."""
    package, _, rest = (node.module or "").partition(".")
    for folder in folders:
        if folder.name != package:
            continue
        for alias in node.names:
            name = alias.asname or alias.name
            module = folder / f"{rest or alias.name}.py"
            if module.is_file():
                yield name, (module, alias.name if rest else "")
            elif (folder / "__init__.py").is_file():
                yield name, (folder / "__init__.py", alias.name)


def _list_bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, or whose contents it changes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
        return
    parts = list(ast.walk(node))
    # The variables of a comprehension are local to it, so the statement does not bind them.
    inner = {id(leaf) for part in parts if isinstance(part, ast.comprehension) for leaf in ast.walk(part.target)}
    for part in parts:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and id(part) not in inner:
            yield part.id
        elif isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            yield from (leaf.id for leaf in ast.walk(part.value) if isinstance(leaf, ast.Name))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        yield from (leaf.id for leaf in ast.walk(node.value.func) if isinstance(leaf, ast.Name))  # `rows.append(...)`


@cache
def _read_module(file: Path, _modified: int, folders: tuple[Path, ...]) -> Namespace:
    return read_namespace([file.read_text(encoding="utf-8")], folders)


def list_helpers(code: str, namespace: Namespace, folders: tuple[Path, ...]) -> list[str]:
    """Return the source of the statements that code depends on, without layout, in the order of use."""
    try:
        waiting: list[tuple[ast.AST, Namespace]] = [(ast.parse(code), namespace)]
    except SyntaxError:
        return []
    statements: dict[int, str] = {}
    while waiting:
        node, names = waiting.pop()
        for name, attribute in _list_read(node):
            home, symbol = names, name
            if name in names.imports and name not in names.statements:
                file, original = names.imports[name]
                home = _read_module(file, file.stat().st_mtime_ns, folders)
                symbol = original or attribute
                while symbol in home.imports and symbol not in home.statements:  # a package re-exports the name
                    file, original = home.imports[symbol]
                    home, symbol = _read_module(file, file.stat().st_mtime_ns, folders), original or attribute
            for statement in home.statements.get(symbol, ()):
                if id(statement) not in statements:
                    statements[id(statement)] = _write(statement)
                    waiting.append((statement, home))
    return list(dict.fromkeys(statements.values()))


_STATEMENTS = 10_000
"""The number of statements whose source and names are kept, because many checks depend on the same ones."""


@lru_cache(maxsize=_STATEMENTS)
def _write(statement: ast.stmt) -> str:
    """Return the source of a statement without layout."""
    return _strip(ast.unparse(statement))


@lru_cache(maxsize=_STATEMENTS)
def _list_read(node: ast.AST) -> tuple[tuple[str, str], ...]:
    """Return the names that code reads but does not bind, each with the attribute that it reads."""
    parts = list(ast.walk(node))
    own = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    own |= {part.arg for part in parts if isinstance(part, ast.arg)}
    names: dict[tuple[str, str], None] = {}
    for part in parts:
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id not in own:
            names[part.value.id, part.attr] = None
        elif isinstance(part, ast.Name) and part.id not in own:
            names[part.id, ""] = None
    return tuple(names)
