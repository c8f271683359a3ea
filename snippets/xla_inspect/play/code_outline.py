"""The outline of a Python text, read without running it: functions, their parameters, and first shapes."""

from __future__ import annotations

import ast
import warnings
from types import SimpleNamespace
from typing import Any

from xla_inspect.play.argument_text import SHORT, write_values

_MAKERS = {"ShapeDtypeStruct", "zeros", "ones", "empty"}
_MAKE = "make an array"
"""No name that code can have."""

_SIMPLE = (
    ast.Expression
    | ast.Name
    | ast.Load
    | ast.Constant
    | ast.Tuple
    | ast.List
    | ast.Dict
    | ast.Call
    | ast.keyword
    | ast.BinOp
    | ast.Mult
    | ast.Add
    | ast.FloorDiv
)


def outline(code: str, function: str = "") -> dict[str, Any]:
    """Return what the page is told of code.

    Args:
        code: The text.
        function: The function that is wanted.

    Returns:
        `functions`, each with `name`, `line` and `parameters`; `chosen`, the wanted one, or the last where there is no
        such; `arguments`, as the file's EXAMPLE tells them where that can be read so; `errors` of the syntax.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Some errors are found only when the tree is compiled, as that of a `return` outside a function.
            compile(code, "edit.py", "exec", dont_inherit=True)
            tree = ast.parse(code)
    except SyntaxError as error:
        found = {"message": f"{type(error).__name__}: {error.msg}", "line": error.lineno, "column": error.offset}
        return _tell([], "", "", [{**found, "end_line": error.end_lineno}])
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        message = f"Python cannot read this: {type(error).__name__}: {error}"
        return _tell([], "", "", [{"message": message[:2000], "line": 1, "column": None, "end_line": None}])
    functions: list[dict[str, Any]] = [
        _describe(node) for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    names: list[str] = [each["name"] for each in functions]
    programs = _list_programs(tree)
    known = [*names, *programs]
    public = [name for name in names if not name.startswith("_")]
    chosen = function if function in known else (public or names or [*programs] or [""])[-1]
    functions += [
        {"name": name, "line": line, "parameters": []} for name, line in programs.items() if name not in names
    ]
    parameters: list[str] = next((each["parameters"] for each in functions if each["name"] == chosen), [])
    arguments = _write_example(tree, parameters) if chosen in names else ""
    return _tell(functions, chosen, arguments, [])


def _tell(functions: list[dict[str, Any]], chosen: str, arguments: str, errors: list[dict[str, Any]]) -> dict[str, Any]:
    return {"functions": functions, "chosen": chosen, "arguments": arguments, "errors": errors}


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return {"name": node.name, "line": node.lineno, "parameters": [each.arg for each in given]}


def _list_programs(tree: ast.Module) -> dict[str, int]:
    """Return the names in a file's PROGRAMS, each with its line, where that is written out."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="PROGRAMS")], value=ast.Dict(keys=keys)):
                pass
            case ast.AnnAssign(target=ast.Name(id="PROGRAMS"), value=ast.Dict(keys=keys)):
                pass
            case _:
                continue
        return {key.value: key.lineno for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return {}


class _Values(dict[str, Any]):
    """The values of a module's simple assignments by name, each evaluated when it is first used.

    Args:
        tree: The module.
    """

    def __init__(self, tree: ast.Module) -> None:
        super().__init__({_MAKE: _make})
        self.nodes: dict[str, ast.expr] = {}
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.nodes[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.nodes[name] = value

    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - any value
        # A name that is being evaluated is not there, so no chain of names has an end that never comes.
        self[name] = self.evaluate(self.nodes.pop(name))
        return self[name]

    def evaluate(self, node: ast.expr) -> Any:  # noqa: ANN401 - any value
        """Return the value of an expression of shapes, numbers, names and containers.

        Raises:
            ValueError: It has another part, such as the call of another function.
        """
        simple = ast.Expression(_Simplifier().visit(node))
        if not all(isinstance(part, _SIMPLE) for part in ast.walk(simple)):
            raise ValueError
        code = compile(ast.fix_missing_locations(simple), "edit.py", "eval")
        return eval(code, {"__builtins__": {}}, self)  # noqa: S307 - of its calls only those of `_make` are left


class _Simplifier(ast.NodeTransformer):
    """Replaces each call that makes an array by one of `_make`, and each type such as `jnp.float32` by its name."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node.func:
            case ast.Attribute(attr=name) if name in _MAKERS:
                call = ast.Call(ast.Name(_MAKE, ast.Load()), node.args, node.keywords)
                return ast.copy_location(super().generic_visit(call), node)  # type: ignore[return-value]  # a call
        raise ValueError

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.copy_location(ast.Constant(node.attr.rstrip("_")), node)


def _make(shape: Any, dtype: str = "float32") -> SimpleNamespace:  # noqa: ANN401 - whatever is written
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    if dtype not in SHORT or not all(isinstance(size, int) for size in sizes):
        raise ValueError
    return SimpleNamespace(shape=sizes, dtype=dtype)


def _write_example(tree: ast.Module, parameters: list[str]) -> str:
    """Return the file's EXAMPLE as text, or an empty string where it is not simple enough."""
    try:
        example = _Values(tree)["EXAMPLE"]
        return write_values(parameters, example, {}) if isinstance(example, tuple) else ""
    except Exception:  # noqa: BLE001 - an expression of the reader's may raise any
        return ""
