"""Arguments as one types them into the page: `x: f32[64,128], n: 3, params: {w: f32[8,8]}`."""

from __future__ import annotations

import ast
import inspect
import re
from contextlib import suppress
from functools import reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.subject import read_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SHAPE = re.compile(r"[a-z]\w*\s*\[[\d\s,]*\]")
_PLACE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:-?\d+|'[^']*'|\"[^\"]*\")\])*")
_STEP = re.compile(r"\.(\w+)|\[(?:(-?\d+)|'([^']*)'|\"([^\"]*)\")\]")
_NAMED = re.compile(r"\s*([^\W\d]\w*)\s*:(.*)", re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"
DEEPEST = 20
"""How deep lists and mappings may stand in each other."""


def read_arguments(
    text: str, function: Callable[..., Any], names: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and the keyword arguments that a text lists.

    Args:
        text: A value for each argument, with its name or in the function's order: a shape, a literal of Python, a list
            or mapping of values, or a name of the file's own such as `EXAMPLE[0]`. Nothing in it is called.
        function: What is called with them.
        names: What the file's names stand for.

    Raises:
        InspectError: It is not such a list, or the function has no such argument.
    """
    given: list[Any] = []
    named: dict[str, Any] = {}
    for part in split_arguments(text):
        match = _NAMED.fullmatch(part)
        value = _read(match[2] if match else part, names, 0)
        if match is None:
            if named:
                message = f"arguments: {part.strip()!r} has no name, and stands behind one that has"
                raise InspectError(message)
            given.append(value)
        elif match[1] in named:
            message = f"arguments: {match[1]} is given twice"
            raise InspectError(message)
        else:
            named[match[1]] = value
    return _bind(function, given, named)


def _bind(
    function: Callable[..., Any], given: list[Any], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments in the function's order, those that can be given by position so."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return tuple(given), named
    kinds = inspect.Parameter
    known = {each.name for each in parameters if each.kind not in {kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD}}
    takes_all = any(each.kind is kinds.VAR_KEYWORD for each in parameters)
    if not takes_all and (unknown := [name for name in named if name not in known]):
        message = f"arguments: the function has no {unknown[0]!r}; it has {', '.join(sorted(known)) or 'none'}"
        raise InspectError(message)
    for each in parameters[len(given) :]:
        if each.name not in named or each.kind not in {kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD}:
            break
        given.append(named.pop(each.name))
    return tuple(given), named


def _read(text: str, names: Mapping[str, Any], depth: int) -> Any:  # noqa: ANN401 - whatever is written
    text = text.strip()
    if depth > DEEPEST:
        message = f"arguments: they are nested more than {DEEPEST} deep"
        raise InspectError(message)
    if _SHAPE.fullmatch(text):
        try:
            return read_shapes(text)[0]
        except InspectError:
            if text.partition("[")[0].strip() not in names:
                raise
    for opening, closing, make in (("{", "}", None), ("[", "]", list), ("(", ")", tuple)):
        if text.startswith(opening) and text.endswith(closing):
            inside = split_arguments(text[1:-1])
            if make is not None:
                return make(_read(each, names, depth + 1) for each in inside)
            pairs = (re.fullmatch(r"\s*(?:'([^']*)'|\"([^\"]*)\"|(\w+))\s*:(.*)", each, re.DOTALL) for each in inside)
            return {
                (pair[1] or pair[2] or pair[3]): _read(pair[4], names, depth + 1) for pair in map(_demand_pair, pairs)
            }
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _look_up(text, names)


def _demand_pair(pair: re.Match[str] | None) -> re.Match[str]:
    if pair is None:
        message = "arguments: in a mapping each value has its name before a colon, as in {w: f32[8,8]}"
        raise InspectError(message)
    return pair


def _look_up(text: str, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return what a name of the file's stands for, with attributes and items."""
    match = _PLACE.fullmatch(text)
    first = re.match(r"\w*", text)
    if match is None or first is None or first[0] not in names:
        message = f"arguments: {text[:80]!r} is no shape such as f32[64,128], no literal, and no name of the file's"
        raise InspectError(message)
    steps: Iterator[re.Match[str]] = _STEP.finditer(text, first.end())

    def follow(held: Any, step: re.Match[str]) -> Any:  # noqa: ANN401 - likewise
        if step[1] is not None:
            return getattr(held, step[1])
        return held[int(step[2])] if step[2] is not None else held[step[3] if step[3] is not None else step[4]]

    try:
        return reduce(follow, steps, names[first[0]])
    except (AttributeError, LookupError, TypeError) as error:
        message = f"arguments: {text[:80]}: {type(error).__name__}: {error}"
        raise InspectError(message) from error


def split_arguments(text: str) -> list[str]:
    """Return the parts between commas that stand in no brackets and no quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    if not parts[-1].strip():
        parts.pop()
    if empty := [part for part in parts if not part.strip()]:
        message = f"arguments: {text[:80]!r}: nothing stands before a comma ({len(empty)} times)"
        raise InspectError(message)
    return parts


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
"""NumPy's name of a type, and HLO's."""


def write_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any], function: Callable[..., Any]) -> str:
    """Return arguments as a text that `read_arguments` reads, or an empty string where they cannot be written so."""
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    names = list[str]()
    with suppress(TypeError, ValueError):
        names = [each.name for each in inspect.signature(function).parameters.values() if each.kind in kinds]
    try:
        return write_values(names, args, kwargs)
    except TypeError:
        return ""


def write_values(names: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return arguments as text, the first with these names.

    Raises:
        TypeError: One of them has no form as text.
    """
    pairs = [*zip_longest(names[: len(args)], args, fillvalue=""), *kwargs.items()]
    return ", ".join(f"{name}: {_write(value)}" if name else _write(value) for name, value in pairs)


def _write(value: Any) -> str:  # noqa: ANN401 - whatever the file holds
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        name = str(value.dtype)
        kind = "key" if name.startswith("key<") else SHORT.get(name, name)
        return f"{kind}[{','.join(map(str, value.shape))}]"
    match value:
        case bool() | int() | float() | complex() | str() | None:
            return repr(value)
        case dict() if all(isinstance(each, str) and each.isidentifier() for each in value):
            return "{" + ", ".join(f"{name}: {_write(each)}" for name, each in value.items()) + "}"
        case list():
            return f"[{', '.join(map(_write, value))}]"
        case tuple() if type(value) is tuple:
            return f"({', '.join(map(_write, value))})"
    message = f"{type(value).__name__} has no form as text"
    raise TypeError(message)
