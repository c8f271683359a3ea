"""The rewriting of asserts, so that a failing one reports its values, and one that cannot fail is detected."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from livepage.run.asserts import HELPER, Site

if TYPE_CHECKING:
    from collections.abc import Iterable

    from livepage.run.asserts import Asserts

_CATCH_ALL = {"AssertionError", "Exception", "BaseException"}
_NAMES = (ast.Name, ast.Attribute, ast.Call)


def rewrite(tree: ast.Module, asserts: Asserts) -> list[Site]:
    """Rewrite the asserts of a module in place, so that they report to `asserts`.

    A comparison with one operator reports its two sides; another expression reports the variables in it; both report
    the variables of the surrounding loops. Each side is evaluated once, as before. The module's globals must hold
    `asserts` under the name `HELPER`.

    Returns:
        The asserts, in order.
    """
    rewriter = _Rewriter(asserts)
    rewriter.visit(tree)
    ast.fix_missing_locations(tree)
    return rewriter.sites


class _Rewriter(ast.NodeVisitor):
    """The visitor that finds the asserts of a module and rewrites each, depending on the code around it."""

    def __init__(self, asserts: Asserts) -> None:
        self.asserts = asserts
        self.sites: list[Site] = []
        self.loops: list[str] = []
        self.in_function = False
        self.is_caught = False

    def _within(self, nodes: Iterable[ast.AST], **context: object) -> None:
        before = {name: getattr(self, name) for name in context}
        vars(self).update(context)
        for node in nodes:
            self.visit(node)
        vars(self).update(before)

    def visit_For(self, node: ast.For) -> None:
        self._within(node.body, loops=[*self.loops, *_find_names(node.target)])
        self._within(node.orelse)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within(node.body, in_function=True, is_caught=False, loops=[])

    def visit_Try(self, node: ast.Try) -> None:
        self._within(node.body, is_caught=self.is_caught or any(map(_swallows, node.handlers)))
        self._within([*node.handlers, *node.orelse, *node.finalbody])

    def visit_With(self, node: ast.With) -> None:
        suppressed = [
            item.context_expr
            for item in node.items
            if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "suppress"
        ]
        caught = any(_catches(argument) for call in suppressed for argument in call.args)
        self._within(node.body, is_caught=self.is_caught or caught)

    def visit_Assert(self, node: ast.Assert) -> None:
        fault = "an `except` around this assert swallows its failure" if self.is_caught else _find_reason(node.test)
        forbids = isinstance(node.test, ast.Constant) and not node.test.value
        site = Site(node.lineno, fault, must_run=not (self.in_function or forbids))
        number = len(self.asserts.sites)
        self.asserts.sites.append(site)
        self.sites.append(site)
        names = sorted({part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)})
        node.test = _Walks(number, site).visit(node.test)
        if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
            # `@left` is no valid identifier, so it cannot hide a variable of the page.
            node.test.left = ast.NamedExpr(ast.Name("@left", ast.Store()), node.test.left)
            node.test.comparators = [ast.NamedExpr(ast.Name("@right", ast.Store()), node.test.comparators[0])]
            names = ["@left", "@right"]
        names += [name for name in self.loops if name not in names]
        node.test = ast.BoolOp(ast.And(), [make_call("meet", ast.Constant(number)), node.test])
        constants = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
        # The values are looked up only when the assert fails; locals hide globals of the same name.
        variables = ast.parse("{**globals(), **locals()}", mode="eval").body
        node.msg = make_call("explain", ast.Constant(number), node.msg or ast.Constant(None), constants, variables)
        place_node(node.test, node)
        place_node(node.msg, node)


class _Walks(ast.NodeTransformer):
    """The transformer that makes `all(...)` and `not any(...)` count elements and report the deciding one."""

    def __init__(self, number: int, site: Site) -> None:
        self.number, self.site = number, site

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self._count(node.operand, "any", decisive=True)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self._count(node, "all", decisive=False)

    def _count(self, call: ast.expr, name: str, *, decisive: bool) -> ast.expr:
        if (
            not isinstance(call, ast.Call)
            or len(call.args) != 1
            or not isinstance(call.func, ast.Name)
            or call.func.id != name
        ):
            return call
        items = call.args[0]
        names: list[str] = []
        if isinstance(items, ast.GeneratorExp | ast.ListComp):
            names = [name for part in items.generators for name in _find_names(part.target)]
            # Each element also yields the loop variables, so that the message can show the element that decided.
            variables = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
            items.elt = ast.Tuple([items.elt, variables], ast.Load())
        self.site.walks.append(0)
        constants = (ast.Constant(self.number), ast.Constant(len(self.site.walks) - 1), ast.Constant(decisive))
        return make_call("walk", *constants, ast.Tuple([ast.Constant(name) for name in names], ast.Load()), items)


def make_call(method: str, *arguments: ast.expr) -> ast.Call:
    """Return the syntax tree of a method call on the object that the asserts report to."""
    return ast.Call(ast.Attribute(ast.Name(HELPER, ast.Load()), method, ast.Load()), list(arguments), [])


def place_node(tree: ast.AST, node: ast.AST) -> None:
    """Give the new parts of a tree the location of a node."""
    for part in ast.walk(tree):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)


def _find_names(target: ast.expr) -> list[str]:
    return [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]


def last_name(node: ast.expr) -> str:
    """Return the name under which a function or class is called, without its module."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _catches(kind: ast.expr) -> bool:
    return any(last_name(part) in _CATCH_ALL for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind]))


def _swallows(handler: ast.ExceptHandler) -> bool:
    raises = any(isinstance(part, ast.Raise) for statement in handler.body for part in ast.walk(statement))
    return not raises and (handler.type is None or _catches(handler.type))


def _find_reason(test: ast.expr) -> str:
    """Return the reason why a test is always true, or an empty string."""
    if isinstance(test, ast.Tuple) and test.elts:
        return "an assert of a tuple always holds: write `assert test, message` without parentheses"
    if isinstance(test, ast.BoolOp):
        reasons = list(map(_find_reason, test.values))
        return next(filter(None, reasons), "") if isinstance(test.op, ast.Or) or all(reasons) else ""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Is | ast.LtE | ast.GtE):
        sides = [ast.dump(side) for side in (test.left, *test.comparators)]
        if len(set(sides)) == 1 and not any(isinstance(part, ast.Call) for part in ast.walk(test)):
            return "this assert compares something with itself"
    if not any(isinstance(part, _NAMES) for part in ast.walk(test)):
        return "this assert holds whatever was computed: it names nothing"
    return ""
