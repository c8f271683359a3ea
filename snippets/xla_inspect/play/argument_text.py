"""A reader and a writer of the arguments on the playground's page, such as `x: f32[64,128], params: {w: f32[8,8]}`."""

from __future__ import annotations

import ast
import inspect
import re
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.subject import read_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_EMPTY = re.compile(r"'[^']*'|\"[^\"]*\"|(?<=\w)\[\s*\]")
"""A quoted text, which stays unchanged, or the empty brackets of a scalar shape, which are not valid Python."""

_LITERALS = ast.Constant | ast.UnaryOp | ast.BinOp | ast.Set


def read_arguments(
    text: str, function: Callable[..., Any], names: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and the keyword arguments listed in a text.

    Args:
        text: A value for each argument, with its name or in the function's order: a shape, a Python literal, a list
            or mapping of values, or a name defined in the file, such as `EXAMPLE[0]`. No function in it is called.
        function: The function that receives the arguments.
        names: The values of the file's module-level names.

    Raises:
        InspectError: The text is not a list of arguments, or the function has no such argument.
    """
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, node in parse_arguments(text):
        value = _evaluate(node, names)
        if name in keywords or (not name and keywords):
            what = f"{name} is given twice" if name else f"{ast.unparse(node)!r} has no name, but follows one that has"
            message = f"arguments: {what}"
            raise InspectError(message)
        if name:
            keywords[name] = value
        else:
            positional.append(value)
    try:
        bound = inspect.signature(function).bind_partial(*positional, **keywords)
    # Some callables, such as functions written in C, have no signature to check the arguments with.
    except ValueError:
        return tuple(positional), keywords
    except TypeError as error:
        message = f"arguments: {error}; the function is {inspect.signature(function)}"
        raise InspectError(message) from error
    return bound.args, bound.kwargs


def parse_arguments(text: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name of each argument (an empty string if it has none) and the syntax tree of its value.

    The list has the form of the slices between the brackets of a subscript, so Python's own parser reads it.

    Raises:
        InspectError: The text is not a list of arguments.
    """
    if not text.strip():
        return
    # An empty tuple as a subscript is valid Python and stands for the empty list of sizes of a scalar.
    whole = _EMPTY.sub(lambda match: match[0] if match[0][0] in "'\"" else "[()]", text)
    try:
        # The newline ends a comment in the text, and the comma makes even a single argument a tuple.
        tree = ast.parse(f"_[{whole}\n,]", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        message = f"arguments: {text[:80]!r} is no list such as x: f32[64,128], n: 3 ({error})"
        raise InspectError(message) from None
    parts = tree.slice.elts if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Tuple) else [tree]
    for part in parts:
        match part:
            case ast.Slice(lower=ast.Name(id=name), upper=ast.expr() as value, step=None):
                yield name, value
            case ast.Slice():
                message = f"arguments: {ast.unparse(part)!r} is no name and value such as x: f32[64,128]"
                raise InspectError(message)
            case _:
                yield "", part


def read_shape(node: ast.expr) -> tuple[str, list[int]] | None:
    """Return the element type and the sizes if a value is a shape such as `f32[64,128]`, otherwise None."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=sizes)):
            pass
        case ast.Subscript(value=ast.Name(id=name), slice=size):
            sizes = [size]
        case _:
            return None
    numbers = [size.value for size in sizes if isinstance(size, ast.Constant) and type(size.value) is int]
    return (name, numbers) if len(numbers) == len(sizes) else None


def read_key(node: ast.expr | None) -> str:
    """Return the name in a key of a mapping, which may be a bare name or a string.

    Raises:
        InspectError: The key is neither a name nor a string.
    """
    match node:
        case ast.Name(id=name) | ast.Constant(value=str() as name):
            return name
    message = "arguments: in a mapping each value has its name before a colon, as in {w: f32[8,8]}"
    raise InspectError(message)


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any value
    # A short name such as `f32` always means a type, and any other name only if the file does not define it.
    if (shape := read_shape(node)) and (shape[0] not in names or shape[0] in SHORT.values()):
        return read_shapes(f"{shape[0]}[{','.join(map(str, shape[1]))}]")[0]
    match node:
        case ast.Dict(keys=keys, values=values):
            return {read_key(key): _evaluate(value, names) for key, value in zip(keys, values, strict=True)}
        case ast.List(elts=items) | ast.Tuple(elts=items):
            # The elements may be shapes, which `ast.literal_eval` would reject, so they are evaluated one by one.
            elements = [_evaluate(item, names) for item in items]
            return elements if isinstance(node, ast.List) else tuple(elements)
    try:
        return _look_up(node, names)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        message = f"arguments: {ast.unparse(node)[:80]}: {type(error).__name__}: {error}"
        raise InspectError(message) from error


def _look_up(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any value
    """Return the value of a literal, or of a name in the file followed by attributes and subscripts."""
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Attribute(value=value, attr=name):
            return getattr(_look_up(value, names), name)
        case ast.Subscript(value=value, slice=index):
            return _look_up(value, names)[ast.literal_eval(index)]
        case _ if isinstance(node, _LITERALS):
            return ast.literal_eval(node)
    text = ast.unparse(node)[:80]
    message = f"arguments: {text!r} is no shape such as f32[64,128], no literal, and no name of the file's"
    raise InspectError(message)


SHORT = {
    "bool": "pred",
    "bfloat16": "bf16",
    "complex64": "c64",
    "complex128": "c128",
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{
        f"{kind}int{bits}": f"{short}{bits}"
        for kind, short in (("", "i"), ("u", "u"))
        for bits in (2, 4, 8, 16, 32, 64)
    },
}
"""The short name of each element type by its name in NumPy: as in HLO, but `i32` and not `s32` for `int32`."""


def write_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any], function: Callable[..., Any]) -> str:
    """Return arguments as text that `read_arguments` accepts, or an empty string if a value has no such form."""
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    names = list[str]()
    with suppress(TypeError, ValueError):
        names = [part.name for part in inspect.signature(function).parameters.values() if part.kind in kinds]
    try:
        return write_values(names, args, kwargs)
    except TypeError:
        return ""


def write_values(names: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return arguments as text, with the given names for the first of them.

    Raises:
        TypeError: An argument cannot be written as text.
    """
    pairs = [*zip_longest(names[: len(args)], args, fillvalue=""), *kwargs.items()]
    return ", ".join(f"{name}: {_write(value)}" if name else _write(value) for name, value in pairs)


def _write(value: Any) -> str:  # noqa: ANN401 - any value
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        name = str(value.dtype)
        kind = "key" if name.startswith("key<") else SHORT.get(name, name)
        return f"{kind}[{','.join(map(str, value.shape))}]"
    match value:
        # Only values whose `repr` is a literal can be read back.
        case bool() | int() | float() | complex() | str() | None:
            return repr(value)
        case dict() if all(isinstance(name, str) and name.isidentifier() for name in value):
            return "{" + ", ".join(f"{name}: {_write(part)}" for name, part in value.items()) + "}"
        case list():
            return f"[{', '.join(map(_write, value))}]"
        # A named tuple would lose its type as text, and JAX would then see another pytree.
        case tuple() if type(value) is tuple:
            return f"({', '.join(map(_write, value))}{',' * (len(value) == 1)})"
    message = f"{type(value).__name__} has no form as text"
    raise TypeError(message)
