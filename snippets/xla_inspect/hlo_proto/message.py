"""Messages of XLA's protocol buffers, decoded by the table of their fields."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto.schema import FIELDS, OLDER, VALUES
from xla_inspect.wire import lay_out, read_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.wire import Field

# Protocol buffers themselves allow no more; the reader of HLO text takes fewer levels of shapes.
_DEEPEST = 100
_DEFAULTS: Mapping[str, object] = {"string": "", "bytes": b"", "float": 0.0, "double": 0.0}


class MalformedProtoError(InspectError):
    """Bytes that are no module of XLA, or one that breaks off or contradicts itself."""


def refuse(reason: str) -> NoReturn:
    """Raise a `MalformedProtoError`."""
    raise MalformedProtoError(reason)


def look_up[Key, Value](table: Mapping[Key, Value], key: Key, reference: str) -> Value:
    """Return what a number refers to.

    Raises:
        MalformedProtoError: Nothing has that number.
    """
    if key not in table:
        refuse(f"{reference} {key}, which is not there")
    return table[key]


class Message:
    """A message, with its fields as attributes; one that is not set has the default of its type.

    Each type of message has a class of its own in `MESSAGES`. The messages and enumerations in a message are decoded
    when they are first read; until then, `vars()` has them under their names after `_`. The values of enumerations
    are their names, or their numbers as text where a newer XLA has one that is unknown here.

    Args:
        data: Its bytes.
        depth: The number of messages around it.

    Raises:
        MalformedProtoError: The bytes are no such message, or nest too deeply.
    """

    def __init__(self, data: bytes = b"", depth: int = 0) -> None:
        """Decode the message."""
        if depth > _DEEPEST:
            refuse(f"messages nest deeper than {_DEEPEST} levels")
        try:
            self.__dict__.update(read_message(data, _LAYOUTS[type(self).__name__]))
        except EOFError:
            refuse(f"the {type(self).__name__} of {len(data):,} bytes there ends within a field")
        except ValueError as error:
            refuse(f"the {type(self).__name__} of {len(data):,} bytes there is malformed: {error}")
        self.data, self.depth = data, depth

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the table has the types
            """Stand for the fields, which only the table knows."""

    def __contains__(self, name: str) -> bool:
        """Return whether a field is set."""
        return store_name(type(self).__name__, name) in self.__dict__

    def __bool__(self) -> bool:
        """Return whether the message has any field."""
        return bool(self.data)


def store_name(message: str, field: str) -> str:
    """Return the name under which a message has a field before the field is read."""
    return _STORED[message].get(field, field)


def _build(message: str) -> type[Message]:
    """Return the class of a type of message, with the defaults of its fields."""
    attributes: dict[str, object] = {
        field.name: _read_inner(field)
        if field.name in _STORED[message]
        else ()
        if field.repeated
        else _DEFAULTS.get(field.kind, 0)
        for field in _ALL[message]
    }
    return type(message, (Message,), attributes)


def _read_inner(field: Field) -> cached_property[Any]:
    """Return the attribute that decodes the messages or the enumeration in a field."""
    key, kind, is_repeated = f"_{field.name}", field.kind, field.repeated
    names = VALUES.get(kind, {})

    def decode(value: Any, depth: int) -> Message | str:  # noqa: ANN401 - bytes or a number
        return names.get(value, str(value)) if names else MESSAGES[kind](value, depth)

    def read(message: Message) -> object:
        value = vars(message).get(key)
        if value is None:
            return () if is_repeated else names[0] if names else MESSAGES[kind]()
        depth = message.depth + 1
        return [decode(item, depth) for item in value] if is_repeated else decode(value, depth)

    return cached_property(read)


_ALL = {message: (*fields, *OLDER.get(message, ())) for message, fields in FIELDS.items()}
_STORED = {
    message: {field.name: f"_{field.name}" for field in fields if field.kind in FIELDS or field.kind in VALUES}
    for message, fields in _ALL.items()
}
_LAYOUTS = {
    message: lay_out(
        field._replace(name=store_name(message, field.name), kind="message" if field.kind in FIELDS else field.kind)
        for field in fields
    )
    for message, fields in _ALL.items()
}
MESSAGES = {message: _build(message) for message in FIELDS}
"""The class of each type of message."""
