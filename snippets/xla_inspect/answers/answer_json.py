"""An answer as JSON, and the JSON Schema that its dataclass defines."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from dataclasses import Field

    from xla_inspect.answers.answer import Answer

FORMAT = 2
"""The version of the format. It increases by one whenever a field changes its meaning or is removed."""

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def write_json(answer: Answer, missing: Mapping[str, str] | None = None) -> str:
    """Return an answer as JSON, with the version of the format, and with `holds`, which is true if the answer is good.

    Args:
        answer: The answer.
        missing: The reasons for missing information, by the name of a field of the capture.
    """
    record = asdict(answer)  # type: ignore[call-overload]  # each answer is a dataclass
    # A complete capture has no such key, so its records do not change.
    record |= {"absent": dict(missing)} if missing else {}
    return json.dumps({"format": FORMAT, "holds": answer.holds, **record}, indent=2, ensure_ascii=False)


def describe_json(kind: type[Answer]) -> dict[str, Any]:
    """Return the JSON Schema of an answer's JSON."""
    own = _describe_class(kind)
    properties = {"format": {"const": FORMAT}, "holds": {"type": "boolean"}, "absent": _describe(Mapping[str, str])}
    properties |= own["properties"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.__name__,
        **own,
        "properties": properties,
        "required": ["format", "holds", *own["required"]],
    }


def _describe_class(kind: type) -> dict[str, Any]:
    # Some modules import `Mapping` only for the type checker, so it is not among their names at run time.
    hints = get_type_hints(kind, localns={"Mapping": Mapping})
    properties = {column.name: _describe(hints[column.name]) for column in fields(kind)}
    return {
        "type": "object",
        "properties": properties,
        "required": [column.name for column in fields(kind) if _is_always_there(column)],
        "additionalProperties": False,
    }


def _is_always_there(column: Field[Any]) -> bool:
    # This package writes every field, but another writer of such a record may omit a field that has a default.
    return column.default is MISSING and column.default_factory is MISSING


def _describe(hint: Any) -> dict[str, Any]:  # noqa: ANN401 - any annotation
    # An alias has no origin and no arguments of its own.
    hint = hint.__value__ if isinstance(hint, TypeAliasType) else hint
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        form: dict[str, Any] = {"type": _PLAIN[hint]}
    # Python has two types for unions: one for `X | Y`, and one for `Union` and `Optional`.
    elif origin in {Union, types.UnionType}:
        form = {"anyOf": [_describe(argument) for argument in arguments]}
    elif origin is Literal:
        form = {"enum": list(arguments)}
    elif origin is tuple:
        # `tuple[X, ...]` has any number of items, and any other tuple has one type for each item.
        many = arguments[1:] == (...,)
        items = {"items": _describe(arguments[0])} if many else {"prefixItems": list(map(_describe, arguments))}
        form = {"type": "array", **items}
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        form = {"type": "object", "additionalProperties": _describe(arguments[1])}
    elif isinstance(hint, type) and is_dataclass(hint):
        form = _describe_class(hint)
    else:
        message = f"an answer has a field of type {hint!r}, which has no JSON form; use plain data or a dataclass"
        raise TypeError(message)
    return form
