"""The decoder of XLA's protocol-buffer messages, driven by the table of their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto.schema import FIELDS, VALUES
from xla_inspect.wire import lay_out, read_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.wire import Field, Layout

# Protocol buffers allow no deeper nesting; the parser of HLO text accepts fewer levels of shapes.
_DEEPEST = 100
_DEFAULTS: Mapping[str, object] = {"string": "", "bytes": b"", "float": 0.0, "double": 0.0}


class MalformedProtoError(InspectError):
    """An error for bytes that are not an XLA module, or that are truncated or inconsistent."""


def refuse(reason: str) -> NoReturn:
    """Raise a `MalformedProtoError` with a reason."""
    raise MalformedProtoError(reason)


def look_up[Key, Value](table: Mapping[Key, Value], key: Key, reference: str) -> Value:
    """Return the entry of a table under a key, such as an id.

    Raises:
        MalformedProtoError: The table lacks the key; the message starts with `reference`.
    """
    if key not in table:
        refuse(f"{reference} {key}, which is not there")
    return table[key]


class Message:
    """A message with its fields as attributes; an unset field has the default of its type.

    Each type of message has its own class in `MESSAGES`. Nested messages and enumerations are decoded when they are
    first read; until then, `vars()` has them under their names with the prefix `_`. The value of an enumeration is its
    name, or its number as text if a newer XLA added a value that is unknown here.

    Args:
        data: The bytes of the message.
        depth: The number of messages around it.

    Raises:
        MalformedProtoError: The bytes are not such a message, or nest too deeply.
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
            """Declare the fields, which only the table defines, for type checkers."""

    def __contains__(self, name: str) -> bool:
        """Return whether a field is set."""
        is_inner = isinstance(getattr(type(self), name), _Inner)
        return (f"_{name}" if is_inner else name) in vars(self)

    def __bool__(self) -> bool:
        """Return whether the message has any field."""
        return bool(self.data)


def store_name(field: Field) -> str:
    """Return the name under which a message stores a field before the field is decoded."""
    return f"_{field.name}" if field.kind in FIELDS or field.kind in VALUES else field.name


class _Inner:
    """A descriptor that decodes the messages or the enumeration in a field on first access."""

    def __init__(self, field: Field) -> None:
        """Store the names and the default of a field."""
        self._name, self._key, self._kind, self._is_repeated = field.name, store_name(field), field.kind, field.repeated
        self._names = VALUES.get(field.kind)
        self._default = () if field.repeated else self._names[0] if self._names else None

    def __get__(self, message: Message | None, owner: type[Message]) -> Any:  # noqa: ANN401 - the table has the types
        """Decode and return the field of a message, and cache it in the message."""
        if message is None:
            return self
        # An attribute of the instance takes precedence over this descriptor, so it decodes each field only once.
        fields = vars(message)
        value, depth = fields.get(self._key), message.depth + 1
        if value is None:
            fields[self._name] = MESSAGES[self._kind]() if self._default is None else self._default
        elif self._is_repeated:
            fields[self._name] = self._decode_all(value, depth)
        else:
            fields[self._name] = self._decode(value, depth)
        return fields[self._name]

    def _decode(self, value: Any, depth: int) -> Message | str:  # noqa: ANN401 - bytes or a number
        return self._names.get(value, str(value)) if self._names else MESSAGES[self._kind](value, depth)

    def _decode_all(self, values: Sequence[Any], depth: int) -> list[Message | str]:
        parts: list[Message | str] = []
        try:
            for value in values:
                parts.append(self._decode(value, depth))  # noqa: PERF401 - the error needs the position
        except MalformedProtoError as error:
            message = f"{self._name.removesuffix('s')} {len(parts) + 1} of {len(values)}: {error}"
            raise MalformedProtoError(message) from error
        return parts


def _find_attribute(field: Field) -> object:
    """Return the class attribute for a field: its decoder for a message or enumeration, otherwise its default value."""
    is_inner = field.kind in FIELDS or field.kind in VALUES
    return _Inner(field) if is_inner else () if field.repeated else _DEFAULTS.get(field.kind, 0)


MESSAGES: dict[str, type[Message]] = {}
"""The class of each type of message, by its name."""
_LAYOUTS: dict[str, Layout] = {}
for _message, _fields in FIELDS.items():
    MESSAGES[_message] = type(_message, (Message,), {field.name: _find_attribute(field) for field in _fields})
    _LAYOUTS[_message] = lay_out(
        field._replace(name=store_name(field), kind="message" if field.kind in FIELDS else field.kind)
        for field in _fields
    )
