"""What stands in a file of budgets, read: each refused with its place where it is something else than it should be."""

from __future__ import annotations

from xla_inspect.errors import InspectError
from xla_inspect.targets import find

__tracebackhide__ = True


def refuse(where: str, given: object, wanted: str) -> InspectError:
    """Return the error of something that is not what stands there."""
    return InspectError(f"{where} is {wanted}, and not {given!r:.80}")


def read_text(where: str, given: object) -> str:
    """Return a text.

    Raises:
        InspectError: It is something else.
    """
    if not isinstance(given, str) or not given.strip():
        raise refuse(where, given, "a text")
    return given


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
            find(name)
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


def read_mesh(where: str, given: object) -> dict[str, int]:
    """Return the axes of a mesh.

    Raises:
        InspectError: It is something else.
    """
    fit = isinstance(given, dict) and given and all(type(size) is int and size > 0 for size in given.values())
    if not fit or not isinstance(given, dict):
        raise refuse(where, given, "a table of axes and their sizes, such as { data = 8 }")
    return given


def read_options(where: str, given: object) -> dict[str, str | int | bool]:
    """Return options of XLA.

    Raises:
        InspectError: It is something else.
    """
    if not isinstance(given, dict) or not all(isinstance(each, str | int | bool) for each in given.values()):
        raise refuse(where, given, "a table of options of XLA, such as { xla_gpu_autotune_level = 0 }")
    return given


def read_switch(where: str, given: object) -> bool:
    """Return whether something is so.

    Raises:
        InspectError: It is something else.
    """
    if not isinstance(given, bool):
        raise refuse(where, given, "true or false")
    return given


def read_count(where: str, given: object) -> int:
    """Return a number of at least one.

    Raises:
        InspectError: It is something else.
    """
    if type(given) is not int or given < 1:
        raise refuse(where, given, "a number of at least 1")
    return given
