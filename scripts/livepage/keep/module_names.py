"""The names in a module's source: imported ones, defined ones, those read on import or after a dot, and short texts."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PLAIN = {
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "lru_cache",
    "overload",
    "property",
    "staticmethod",
}
"""The decorators whose functions still run when they are called, so that the interpreter reports them."""

type _Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class ModuleNames:
    """The names of a module.

    Attributes:
        imports: The dotted name of each name that the module imports, such as `a.b.c` for `from a.b import c`.
        values: The names that it defines and that are not plain functions, such as constants and classes.
        functions: The names of its plain functions.
        first: The names that are read when the module is imported.
        attributes: The names that it reads after a dot.
        strings: The short texts in it, one of which may name a data file.
    """

    imports: Mapping[str, str]
    values: frozenset[str]
    functions: frozenset[str]
    first: frozenset[str]
    attributes: frozenset[str]
    strings: frozenset[str]


@lru_cache(maxsize=2000)
def read_names(code: str, *, lazily: bool = False) -> ModuleNames:
    """Return the names in the source of a module.

    Args:
        code: The source.
        lazily: Whether the imports for type checkers count, since the module imports these names when they are used.

    Raises:
        SyntaxError: The source is not valid Python.
    """
    tree = ast.parse(code)
    nodes = [*(ast.walk(tree) if lazily else _walk(tree))]
    imports = {name: dotted for node in nodes for name, dotted in _list_imports(node)}
    attributes = frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))
    values, functions = set[str](), set[str]()
    for statement in _list_statements(tree.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            (functions if _is_plain(statement) else values).add(statement.name)
        elif isinstance(statement, ast.ClassDef):
            values.add(statement.name)
        else:
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            values |= {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100  # noqa: PLR2004 - as long as names of files
    }
    first = frozenset(_list_first(tree))
    return ModuleNames(imports, frozenset(values), frozenset(functions), first, attributes, frozenset(strings))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, except for what only type checkers read."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _is_for_types(child):
            for other in child.orelse:
                yield from _walk(other)
        else:
            yield from _walk(child)


def _is_for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _list_imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import():
            yield from ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)
        case ast.ImportFrom(module=str(module), level=0):
            yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names)


def _list_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, including those in conditions and other blocks."""
    for statement in body:
        if isinstance(statement, ast.If) and _is_for_types(statement):
            yield from _list_statements(statement.orelse)
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for part in ("body", "orelse", "finalbody"):
                yield from _list_statements(getattr(statement, part, []))
            yield from (
                line for handler in getattr(statement, "handlers", []) for line in _list_statements(handler.body)
            )
        else:
            yield statement


def _is_plain(function: _Function) -> bool:
    """Return whether the interpreter reports each call of a function, in spite of its decorators."""
    return all(_name_decorator(decorator) in _PLAIN for decorator in function.decorator_list)


def _name_decorator(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _list_first(node: ast.AST) -> Iterator[str]:
    """Yield the names that are read when a module is imported: all but those in functions and annotations."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            for part in (*node.decorator_list, *defaults):
                yield from _list_first(part)
            return
        case ast.AnnAssign():
            if node.value:
                yield from _list_first(node.value)
            return
        case ast.If() if _is_for_types(node):
            for line in node.orelse:
                yield from _list_first(line)
            return
        case ast.Name():
            yield node.id
        case ast.Attribute():
            yield node.attr
    for child in ast.iter_child_nodes(node):
        yield from _list_first(child)
