"""Make plain asserts say what they compared: `left was 3, right was 4`."""

from __future__ import annotations

import ast
import reprlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HELPER = "@explain"

_LONGEST = 200
_shorten = reprlib.Repr(maxstring=_LONGEST, maxother=_LONGEST, maxlist=12, maxtuple=12, maxdict=12, maxset=12)


def explain_asserts(tree: ast.Module) -> None:
    """Rewrite the asserts of a module, in place, so that a failing one carries the values it saw.

    A comparison with one operator names its two sides; another expression names the variables in it.
    Each side is evaluated once, as before. The module's globals must hold `explain` under the name `HELPER`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            _explain_assert(node)
    ast.fix_missing_locations(tree)


def explain(message: object, names: tuple[str, ...], variables: Mapping[str, Any]) -> str:
    """Return the message of a failing assert: what it says, then the values, shortened."""
    seen = {name: variables[name] for name in names if name in variables}
    values = ", ".join(
        f"{name.removeprefix('@')} was {_shorten.repr(value)}"
        for name, value in seen.items()
        if not callable(value) and not isinstance(value, ModuleType)
    )
    return ": ".join(part for part in ("" if message is None else str(message), values) if part)


def _explain_assert(node: ast.Assert) -> None:
    if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
        node.test.left = ast.NamedExpr(ast.Name("@left", ast.Store()), node.test.left)
        node.test.comparators = [ast.NamedExpr(ast.Name("@right", ast.Store()), node.test.comparators[0])]
        names = ["@left", "@right"]
    else:
        names = sorted({part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)})
    message = node.msg or ast.Constant(None)
    shown = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
    variables = ast.parse("{**globals(), **locals()}", mode="eval").body
    node.msg = ast.Call(ast.Name(HELPER, ast.Load()), [message, shown, variables], [])
    for part in ast.walk(node.msg):
        ast.copy_location(part, node)
    for part in ast.walk(node.test):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
