"""The outline of Python code, read without running it: functions, their parameters, and the shapes in `EXAMPLE`."""

from __future__ import annotations

import ast
import warnings
from types import SimpleNamespace
from typing import Any

from xla_inspect.play.argument_text import SHORT, write_values

_MAKERS = {"ShapeDtypeStruct", "zeros", "ones", "empty"}
_MAKE = "make an array"
"""A key that cannot collide with a name in the code, since it contains spaces."""

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
    """Return the description of code that the page displays, without running it.

    Args:
        code: The Python code.
        function: The name of the function that the reader selected.

    Returns:
        `functions`, each with `name`, `line` and `parameters`; `chosen`, the selected function, or the last public one
        if the code does not define it; `arguments`, from EXAMPLE if it is simple enough; and syntax `errors`.
    """
    try:
        with warnings.catch_warnings():
            # The reader's code may contain invalid escapes, about which Python would warn on the server's terminal.
            warnings.simplefilter("ignore")
            # Python detects some errors, such as a `return` outside a function, only when it compiles the tree.
            compile(code, "edit.py", "exec", dont_inherit=True)
            tree = ast.parse(code)
    except SyntaxError as error:
        problem = {"message": f"{type(error).__name__}: {error.msg}", "line": error.lineno, "column": error.offset}
        return _tell([], "", "", [{**problem, "end_line": error.end_lineno}])
    # Deeply nested code and null characters raise these errors, which have no line of their own.
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        message = f"Python cannot read this: {type(error).__name__}: {error}"
        return _tell([], "", "", [{"message": message[:2000], "line": 1, "column": None, "end_line": None}])
    functions: list[dict[str, Any]] = [
        _describe(node) for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    names: list[str] = [entry["name"] for entry in functions]
    programs = _list_programs(tree)
    choices = [*names, *programs]
    public = [name for name in names if not name.startswith("_")]
    chosen = function if function in choices else (public or names or [*programs] or [""])[-1]
    functions += [
        {"name": name, "line": line, "parameters": []} for name, line in programs.items() if name not in names
    ]
    parameters: list[str] = next((entry["parameters"] for entry in functions if entry["name"] == chosen), [])
    arguments = _write_example(tree, parameters) if chosen in names else ""
    return _tell(functions, chosen, arguments, [])


def _tell(functions: list[dict[str, Any]], chosen: str, arguments: str, errors: list[dict[str, Any]]) -> dict[str, Any]:
    return {"functions": functions, "chosen": chosen, "arguments": arguments, "errors": errors}


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return {"name": node.name, "line": node.lineno, "parameters": [parameter.arg for parameter in parameters]}


def _list_programs(tree: ast.Module) -> dict[str, int]:
    """Return the line number of each name in a file's PROGRAMS, if that is a literal dictionary."""
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
    """The values of a module's simple assignments by name; each is evaluated at its first use."""

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
        # The name is removed while it is evaluated, so names that refer to each other cannot recurse forever.
        self[name] = self.evaluate(self.nodes.pop(name))
        return self[name]

    def evaluate(self, node: ast.expr) -> Any:  # noqa: ANN401 - any value
        """Return the value of an expression that consists of shapes, numbers, names and containers.

        Raises:
            ValueError: The expression contains something else, such as a call of another function.
        """
        # The tree is checked before it is evaluated, so none of the reader's functions can run.
        simple = ast.Expression(_Simplifier().visit(node))
        if not all(isinstance(part, _SIMPLE) for part in ast.walk(simple)):
            raise ValueError
        code = compile(ast.fix_missing_locations(simple), "edit.py", "eval")
        return eval(code, {"__builtins__": {}}, self)  # noqa: S307 - of its calls only those of `_make` are left


class _Simplifier(ast.NodeTransformer):
    """A transformer that replaces array constructors by calls of `_make`, and types (`jnp.float32`) by their names."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node.func:
            case ast.Attribute(attr=name) if name in _MAKERS:
                call = ast.Call(ast.Name(_MAKE, ast.Load()), node.args, node.keywords)
                return ast.copy_location(super().generic_visit(call), node)  # type: ignore[return-value]  # a call
        raise ValueError

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        # NumPy's type `bool_` has an underscore at its end, but the name of the type has none.
        return ast.copy_location(ast.Constant(node.attr.rstrip("_")), node)


def _make(shape: Any, dtype: str = "float32") -> SimpleNamespace:  # noqa: ANN401 - whatever is written
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    if dtype not in SHORT or not all(isinstance(size, int) for size in sizes):
        raise ValueError
    return SimpleNamespace(shape=sizes, dtype=dtype)


def _write_example(tree: ast.Module, parameters: list[str]) -> str:
    """Return the file's EXAMPLE as text, or an empty string if it is not simple enough to evaluate."""
    try:
        example = _Values(tree)["EXAMPLE"]
        return write_values(parameters, example, {}) if isinstance(example, tuple) else ""
    except Exception:  # noqa: BLE001 - an expression of the reader's may raise any
        return ""
