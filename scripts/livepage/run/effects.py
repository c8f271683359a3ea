"""What the code of a piece does to the names of its page, as far as the text tells: it binds, reads and alters them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from livepage.read import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from livepage.read import Piece

_DARK = frozenset({"exec", "eval", "globals", "locals", "__import__", "breakpoint"})
"""What reaches names that the text does not tell."""
_BARE = frozenset({"vars", "dir"})
"""What does so where it is called with nothing."""
_SETTERS = frozenset({"setattr", "delattr"})
_HARMLESS = frozenset({"print"})
"""What is called for what it does, and does it to none of its arguments."""

type Names = frozenset[str]
type _Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Effects:
    """What the text of a piece says of names.

    Attributes:
        binds: Those that it may bind or remove.
        sets: Those of them that it binds in any case.
        reads: Those that it may read before it binds them.
        later: Those that functions read which it defines, whenever they are called.
        alters: Those whose object it may change in place: an attribute or an item is set, it is added to.
        patches: The same, and those that it bound before.
        hands_over: Those to which something is done in a call whose result nobody takes.
        has_functions: Whether it defines a function or a class, which knows the lines on which it stands.
        is_dark: Whether it may do more than its text tells.
    """

    binds: Names = frozenset()
    sets: Names = frozenset()
    reads: Names = frozenset()
    later: Names = frozenset()
    alters: Names = frozenset()
    patches: Names = frozenset()
    hands_over: Names = frozenset()
    has_functions: bool = False
    is_dark: bool = False


def find_effects(piece: Piece) -> Effects:
    """Return what a piece may do; nothing where its text is no Python, since then it does not run."""
    # The result of a value is taken: it stands on the page.
    return _find_effects(f"_livepage_value = ({piece.code.strip()}\n)" if piece.kind is Kind.VALUE else piece.code)


@cache
def _find_effects(code: str) -> Effects:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return Effects()
    walk = _Walk()
    sets = walk.go_through(tree.body, frozenset())
    if not _may_call_own(tree, walk.at_once):
        walk.reads -= walk.later - walk.at_once  # nothing of it is read yet
    return Effects(
        frozenset(_list_bound(tree.body)),
        sets,
        frozenset(walk.reads),
        frozenset(walk.later),
        frozenset(walk.alters),
        frozenset(walk.patches),
        frozenset(walk.hands_over),
        has_functions=any(isinstance(part, _DEFINITIONS) for part in ast.walk(tree)),
        is_dark=any(map(_is_dark, ast.walk(tree))),
    )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Walk:
    """Goes through the statements of a piece in order, knowing which names are bound in any case."""

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.later: set[str] = set()
        self.at_once: set[str] = set()
        self.alters: set[str] = set()
        self.patches: set[str] = set()
        self.hands_over: set[str] = set()

    def go_through(self, body: Iterable[ast.stmt], bound: Names) -> Names:
        """Go through statements, and return the names that are bound in any case at the end."""
        for statement in body:
            bound = self._go_on(statement, bound)
        return bound

    def _go_on(self, node: ast.stmt, bound: Names) -> Names:
        if isinstance(node, ast.Expr):
            self.hands_over |= {name for name in _list_handed(node.value) if name not in bound}
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self._look(item, bound)
                bound |= frozenset(_list_targets(item))
            self.go_through(node.body, bound)  # the context may swallow what ends it
        elif isinstance(node, _BRANCHES):
            bound |= self._go_apart(node, bound)
        else:
            self._look(node, bound)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id not in bound:
                self.reads.add(node.target.id)
            if isinstance(node, ast.Delete):
                bound -= frozenset(_list_bound([node]))
            elif isinstance(node, _BINDERS):
                bound |= frozenset(_list_bound([node])) - _list_walrus(node)
        return bound

    def _go_apart(self, node: ast.stmt, bound: Names) -> Names:
        """Go through a statement that may leave parts of it out, and return what it binds in any case."""
        if isinstance(node, ast.If):
            self._look(node.test, bound)
            return self.go_through(node.body, bound) & self.go_through(node.orelse, bound)
        if isinstance(node, ast.Try | ast.TryStar):
            self.go_through(node.orelse, self.go_through(node.body, bound))
            for part in (*node.handlers, *node.finalbody):
                self._look(part, bound)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            head = [node.test] if isinstance(node, ast.While) else [node.iter, node.target]
            for part in head:
                self._look(part, bound)
            self.go_through(node.body, bound | {name for part in head[1:] for name in _list_targets(part)})
            self.go_through(node.orelse, bound)
        return frozenset()

    def _look(self, node: ast.AST, bound: Names, hidden: Names = frozenset(), *, is_later: bool = False) -> None:
        """Note the names of a part: `bound` are those that the piece bound by then, `hidden` those of functions."""
        if isinstance(node, ast.Name):
            self._note_name(node, bound, hidden, is_later=is_later)
        for name in _list_altered(node):
            if name not in hidden:
                self.patches.add(name)
                if name not in bound:
                    self.alters.add(name)
        if isinstance(node, ast.Expr):
            self.hands_over |= {name for name in _list_handed(node.value) if name not in bound | hidden}
        if isinstance(node, _FUNCTIONS):
            self._look_into(node, bound, hidden, is_later=is_later)
            return
        if isinstance(node, _COMPREHENSIONS):
            hidden |= {name for part in node.generators for name in _list_targets(part.target)}
            is_later = is_later or isinstance(node, ast.GeneratorExp)
            # The first of what is walked through is looked up outside.
            self._look(node.generators[0].iter, bound, hidden - set(_list_targets(node.generators[0].target)))
        for part in ast.iter_child_nodes(node):
            self._look(part, bound, hidden, is_later=is_later)

    def _note_name(self, node: ast.Name, bound: Names, hidden: Names, *, is_later: bool) -> None:
        if node.id in hidden or isinstance(node.ctx, ast.Store):
            return
        (self.later if is_later else self.at_once).add(node.id)
        if node.id not in bound:
            self.reads.add(node.id)

    def _look_into(self, node: _Function, bound: Names, hidden: Names, *, is_later: bool) -> None:
        arguments = node.args
        outside: list[ast.AST | None] = [*arguments.defaults, *arguments.kw_defaults]
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        outside += [each.annotation for each in given if each]
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        if not isinstance(node, ast.Lambda):
            outside += [*node.decorator_list, node.returns]
        for part in outside:
            if part:
                self._look(part, bound, hidden, is_later=is_later)
        local = {each.arg for each in given if each} | set(_list_bound(body))
        local |= {parameter.name for parameter in getattr(node, "type_params", ())}
        for part in body:
            self._look(part, bound, hidden | local, is_later=True)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_BRANCHES = (ast.If, ast.Try, ast.TryStar, ast.For, ast.AsyncFor, ast.While)
_BINDERS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def _may_call_own(tree: ast.Module, names: set[str]) -> bool:
    """Return whether a piece may call a function that it defines, some of whose names it uses at once."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    others = [node for node in tree.body if node not in functions]
    hidden = (*_DEFINITIONS, ast.GeneratorExp)
    return any(node.name in names for node in functions) or any(
        isinstance(part, hidden) for node in others for part in ast.walk(node)
    )


def _list_targets(target: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _list_walrus(node: ast.AST) -> Names:
    """Return the names that an expression binds on its way, which it may not come to."""
    return frozenset(part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr))


def _list_bound(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that code binds or removes in its own scope."""
    for node in body:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        if isinstance(node, _Definition):
            yield node.name
        elif isinstance(node, _COMPREHENSIONS):
            yield from _list_walrus(node)
        elif not isinstance(node, ast.Lambda):
            yield from _list_bound(ast.iter_child_nodes(node))


def _list_altered(part: ast.AST) -> Iterator[str]:
    """Yield the names whose objects a part of the code changes by setting, deleting or adding to what they hold."""
    if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store | ast.Del):
        yield from _list_names(part.value)
    elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
        yield part.target.id
    elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _SETTERS and part.args:
        yield from _list_names(part.args[0])


def _list_handed(value: ast.expr) -> Iterator[str]:
    """Yield the names to which something is done in a statement that is no more than a call."""
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call) or (isinstance(value.func, ast.Name) and value.func.id in _HARMLESS):
        return
    if isinstance(value.func, ast.Attribute):
        yield from _list_names(value.func.value)
    for argument in (*value.args, *(keyword.value for keyword in value.keywords)):
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript):
            yield from _list_names(inner)


def _list_names(part: ast.expr) -> Iterator[str]:
    return (inner.id for inner in ast.walk(part) if isinstance(inner, ast.Name))


def _is_dark(part: ast.AST) -> bool:
    if isinstance(part, ast.Global):
        return True
    if isinstance(part, ast.ImportFrom):
        return any(alias.name == "*" for alias in part.names)
    if isinstance(part, ast.Name):
        return part.id in _DARK
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _BARE and not part.args
