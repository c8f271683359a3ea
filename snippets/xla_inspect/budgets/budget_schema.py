"""What stands in a file of budgets, read: each refused with its place where it is something else than it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Callable

__tracebackhide__ = True


def refuse(where: str, given: object, wanted: str) -> InspectError:
    """Return the error of something that is not what stands there."""
    return InspectError(f"{where} is {wanted}, and not {given!r:.80}")


def _accept(wanted: str, is_fit: Callable[[Any], bool]) -> Callable[[str, Any], Any]:
    """Return the reader of a value that has to be of one form, such as "true or false"."""

    def read(where: str, given: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
        if not is_fit(given):
            raise refuse(where, given, wanted)
        return given

    return read


read_text = _accept("a text", lambda given: isinstance(given, str) and bool(given.strip()))
read_switch = _accept("true or false", lambda given: isinstance(given, bool))
read_count = _accept("a number of at least 1", lambda given: type(given) is int and given > 0)
read_mesh = _accept(
    "a table of axes and their sizes, such as { data = 8 }",
    lambda given: (
        isinstance(given, dict) and len(given) > 0 and all(type(size) is int and size > 0 for size in given.values())
    ),
)
read_options = _accept(
    "a table of options of XLA, such as { xla_gpu_autotune_level = 0 }",
    lambda given: isinstance(given, dict) and all(isinstance(each, str | int | bool) for each in given.values()),
)


def read_texts(where: str, given: object) -> tuple[str, ...]:
    """Return a text, or several, as several.

    Raises:
        InspectError: It is something else.
    """
    return tuple(read_text(where, each) for each in (given if isinstance(given, list) else [given]))


def read_targets(where: str, given: object) -> tuple[str, ...]:
    """Return a target, or several, each of which there is.

    Raises:
        InspectError: It is something else.
    """
    for name in read_texts(where, given):
        try:
            find_target(name)
        except InspectError as error:
            message = f"{where}: {error}"
            raise InspectError(message) from error
    return read_texts(where, given)


def read_arguments(where: str, given: object) -> tuple[str, ...]:
    """Return numbers or names of arguments.

    Raises:
        InspectError: It is something else.
    """
    items = given if isinstance(given, list) else [given]
    if not all(isinstance(each, int | str) and not isinstance(each, bool) for each in items):
        raise refuse(where, given, "the number or name of an argument, or a list of them")
    return tuple(map(str, items))
