"""What a text of Python defines, read without running it: functions, their parameters, and shapes to begin with."""

from __future__ import annotations

import ast
import warnings
from typing import Any

_TYPES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "bool_": "pred",
    "bool": "pred",
    "complex64": "c64",
}
_MAKERS = {"ShapeDtypeStruct", "zeros", "ones", "empty"}
DEEPEST = 50
"""How deep expressions are followed."""


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
    arguments = _Reader(tree).read_example(parameters) if chosen in names else ""
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


class _Reader:
    """Reads shapes out of expressions that are simple enough."""

    def __init__(self, tree: ast.Module) -> None:
        self.values: dict[str, ast.expr] = {}
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.values[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.values[name] = value

    def read_example(self, parameters: list[str]) -> str:
        """Return the file's EXAMPLE as text, or an empty string where it cannot be read so."""
        try:
            match self.values.get("EXAMPLE"):
                case ast.Tuple(elts=items):
                    texts = [self.show(item, 0) for item in items]
                case _:
                    return ""
        except (ValueError, RecursionError):
            return ""
        names = [*parameters, *([""] * len(texts))]
        return ", ".join(f"{name}: {text}" if name else text for name, text in zip(names, texts, strict=False))

    def show(self, node: ast.expr, depth: int) -> str:
        """Return an expression as text.

        Raises:
            ValueError: It is not simple enough.
        """
        if depth > DEEPEST:
            raise ValueError
        match node:
            case ast.Name(id=name) if name in self.values:
                return self.show(self.values[name], depth + 1)
            case ast.Constant(value=bool() | int() | float() | None as value):
                return repr(value)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return (
                    "{"
                    + ", ".join(f"{self.read_key(key)}: {self.show(value, depth + 1)}" for key, value in pairs)
                    + "}"
                )
            case ast.List(elts=items):
                return f"[{', '.join(self.show(item, depth + 1) for item in items)}]"
            case ast.Tuple(elts=items):
                return f"({', '.join(self.show(item, depth + 1) for item in items)})"
            case ast.Call(func=ast.Attribute(attr=maker), args=given, keywords=named) if maker in _MAKERS and given:
                kinds = {each.arg: each.value for each in named}
                kind = given[1] if len(given) > 1 else kinds.get("dtype")
                return f"{self.read_type(kind)}[{','.join(map(str, self.read_shape(given[0], depth)))}]"
        raise ValueError

    @staticmethod
    def read_key(node: ast.expr | None) -> str:
        """Return the name that a key of a mapping is."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            return node.value
        raise ValueError

    @staticmethod
    def read_type(node: ast.expr | None) -> str:
        """Return the short name of an array's type."""
        match node:
            case None:
                return "f32"
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str() as name) if name in _TYPES:
                return _TYPES[name]
        raise ValueError

    def read_shape(self, node: ast.expr, depth: int) -> list[int]:
        """Return the sizes that a shape has."""
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return [self.read_size(item, depth) for item in items]
            case ast.Name(id=name) if name in self.values and depth < DEEPEST:
                return self.read_shape(self.values[name], depth + 1)
        return [self.read_size(node, depth)]

    def read_size(self, node: ast.expr, depth: int) -> int:
        """Return the number that an expression is."""
        if depth > DEEPEST:
            raise ValueError
        match node:
            case ast.Constant(value=int() as value):
                return value
            case ast.Name(id=name) if name in self.values:
                return self.read_size(self.values[name], depth + 1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.read_size(left, depth + 1) * self.read_size(right, depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.read_size(left, depth + 1) + self.read_size(right, depth + 1)
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=right) if divisor := self.read_size(right, depth + 1):
                return self.read_size(left, depth + 1) // divisor
        raise ValueError
