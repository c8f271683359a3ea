"""Messages of XLA's protocol buffers, decoded by the table of their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from xla_inspect.errors import InspectError
from xla_inspect.hlo_proto.schema import FIELDS, VALUES
from xla_inspect.wire import lay_out, read_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.wire import Field, Layout

# Protocol buffers themselves allow no more; the reader of HLO text takes fewer levels of shapes.
_DEEPEST = 100
_DEFAULTS: Mapping[str, object] = {"string": "", "bytes": b"", "float": 0.0, "double": 0.0}


class MalformedProtoError(InspectError):
    """Bytes that are no module of XLA, or one that breaks off or contradicts itself."""


def refuse(reason: str) -> NoReturn:
    """Raise a `MalformedProtoError`."""
    raise MalformedProtoError(reason)


def look_up[Key, Value](table: Mapping[Key, Value], key: Key, reference: str) -> Value:
    """Return the object with a number.

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
        is_inner = isinstance(getattr(type(self), name), _Inner)
        return (f"_{name}" if is_inner else name) in vars(self)

    def __bool__(self) -> bool:
        """Return whether the message has any field."""
        return bool(self.data)


def store_name(field: Field) -> str:
    """Return the name under which a message has a field before the field is read."""
    return f"_{field.name}" if field.kind in FIELDS or field.kind in VALUES else field.name


class _Inner:
    """The messages or the enumeration in a field, decoded when they are first read."""

    def __init__(self, field: Field) -> None:
        """Describe a field."""
        self._name, self._key, self._kind, self._is_repeated = field.name, store_name(field), field.kind, field.repeated
        self._names = VALUES.get(field.kind)
        self._default = () if field.repeated else self._names[0] if self._names else None

    def __get__(self, message: Message | None, owner: type[Message]) -> Any:  # noqa: ANN401 - the table has the types
        """Return the field of a message, and put it where the next reader has it at once."""
        if message is None:
            return self
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
        decoded: list[Message | str] = []
        try:
            for value in values:
                decoded.append(self._decode(value, depth))  # noqa: PERF401 - the error gives the place
        except MalformedProtoError as error:
            message = f"{self._name.removesuffix('s')} {len(decoded) + 1} of {len(values)}: {error}"
            raise MalformedProtoError(message) from error
        return decoded


def _find_attribute(field: Field) -> object:
    """Return the default of a field in the class of its message, or its decoder."""
    is_inner = field.kind in FIELDS or field.kind in VALUES
    return _Inner(field) if is_inner else () if field.repeated else _DEFAULTS.get(field.kind, 0)


MESSAGES: dict[str, type[Message]] = {}
"""The class of each type of message."""
_LAYOUTS: dict[str, Layout] = {}
for _message, _fields in FIELDS.items():
    MESSAGES[_message] = type(_message, (Message,), {field.name: _find_attribute(field) for field in _fields})
    _LAYOUTS[_message] = lay_out(
        field._replace(name=store_name(field), kind="message" if field.kind in FIELDS else field.kind)
        for field in _fields
    )
