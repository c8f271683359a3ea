"""Readers for the values of a budget file, which report the place of an invalid value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import subject
from xla_inspect.errors import InspectError
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Callable

__tracebackhide__ = True


def make_form_error(where: str, value: object, form: str) -> InspectError:
    """Return, but do not raise, the error about a value that is not of the given form."""
    return InspectError(f"{where} must be {form}, not {value!r:.80}")


def _accept(form: str, is_fit: Callable[[Any], bool]) -> Callable[[str, Any], Any]:
    """Return a function that returns a value of the given form unchanged, and raises InspectError for another value."""

    def read(where: str, value: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
        if not is_fit(value):
            raise make_form_error(where, value, form)
        return value

    return read


read_text = _accept("a text", lambda given: isinstance(given, str) and bool(given.strip()))
read_switch = _accept("true or false", lambda given: isinstance(given, bool))
# The exact type is compared, because `true` in TOML is a boolean, which Python also counts as an integer.
read_count = _accept("a number of at least 1", lambda given: type(given) is int and given > 0)
read_mesh = _accept(
    "a table of axes and their sizes, such as { data = 8 }",
    lambda given: (
        isinstance(given, dict) and len(given) > 0 and all(type(size) is int and size > 0 for size in given.values())
    ),
)
read_options = _accept(
    "a table of options of XLA, such as { xla_gpu_autotune_level = 0 }",
    lambda given: isinstance(given, dict) and all(isinstance(option, str | int | bool) for option in given.values()),
)


def read_texts(where: str, value: object) -> tuple[str, ...]:
    """Return the one text or the list of texts that a value is, as a tuple.

    Raises:
        InspectError: The value has another form.
    """
    return tuple(read_text(where, text) for text in (value if isinstance(value, list) else [value]))


def read_sizes(where: str, value: object) -> dict[str, int]:
    """Return the sizes of dimensions by name, from a table such as `{ batch = 8 }` or texts such as `batch=8`.

    Raises:
        InspectError: The value has another form.
    """
    if isinstance(value, dict):
        return {name: read_count(f"{where}.{name}", size) for name, size in value.items()}
    try:
        return subject.read_sizes(read_texts(where, value))
    except InspectError as error:
        message = f"{where}: {error}"
        raise InspectError(message) from error


def read_targets(where: str, value: object) -> tuple[str, ...]:
    """Return the one target or the list of targets that a value is, as a tuple.

    Raises:
        InspectError: The value has another form, or a target does not exist.
    """
    for name in read_texts(where, value):
        try:
            find_target(name)
        except InspectError as error:
            message = f"{where}: {error}"
            raise InspectError(message) from error
    return read_texts(where, value)


def read_arguments(where: str, value: object) -> tuple[str, ...]:
    """Return one number or name of an argument, or a list of them, as a tuple of texts.

    Raises:
        InspectError: The value has another form.
    """
    arguments = value if isinstance(value, list) else [value]
    if not all(isinstance(argument, int | str) and not isinstance(argument, bool) for argument in arguments):
        raise make_form_error(where, value, "the number or name of an argument, or a list of them")
    return tuple(map(str, arguments))
