"""Which arguments of a program are updated in place: given to the program, taken by a result, and never copied."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.questions.why import list_copies
from xla_inspect.subject import name_positions
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction
    from xla_inspect.subject import Call

__tracebackhide__ = True


def find_argument(capture: Capture, call: Call, argument: int | str) -> tuple[str, tuple[Instruction, ...]]:
    """Return what an argument is called, and the parameters of the program that its arrays are.

    Args:
        capture: The program.
        call: How it was called.
        argument: The argument's number among the positional ones, or its name.

    Raises:
        InspectError: There is no such argument, or the program uses none of its arrays.
    """
    try:
        signature = inspect.signature(call.function)
    except (TypeError, ValueError):
        signature = None
    names = name_positions(signature, len(call.args))
    if isinstance(argument, bool) or not isinstance(argument, int | str):
        message = f"argument={argument!r} is neither the number of an argument nor its name"
        raise InspectError(message)
    if isinstance(argument, int):
        if not -len(call.args) <= argument < len(call.args):
            message = f"argument={argument}: {capture.program} is called with {len(call.args)} arguments by position"
            raise InspectError(message)
        name = names[argument]
    else:
        name = argument
        if name not in {*names, *call.kwargs}:
            message = (
                f"{capture.program} has no argument {name!r}; it has {', '.join((*names, *call.kwargs)) or 'none'}"
            )
            raise InspectError(message)
    found = tuple(each for each in capture.module.entry.parameters if _is_of(each.op_name or each.name, name))
    if not found:
        message = f"{capture.program} uses no array of its argument {name!r}, so that none can be updated in place"
        raise InspectError(message)
    return name, found


def tell_untaken(capture: Capture, parameters: Sequence[Instruction]) -> Iterator[tuple[str, str]]:
    """Yield the arrays of an argument whose place no result takes, each with what to ask why of.

    Args:
        capture: The program.
        parameters: The argument's arrays.
    """
    taken = {*capture.module.aliases.values()}
    for each in parameters:
        name = each.op_name or each.name
        if each.parameter_number not in taken:
            yield f"{name} ({format_bytes(each.shape.bytes)}): no result takes its place", name


def tell_copied(capture: Capture, parameters: Sequence[Instruction]) -> Iterator[tuple[str, str]]:
    """Yield the arrays of an argument that are copied whole, likewise, and results that are of their size.

    Args:
        capture: The program.
        parameters: The argument's arrays.
    """
    names = {each.op_name or each.name for each in parameters}
    sizes = {each.shape.bytes for each in parameters}
    for copy in list_copies(capture):
        if not copy.is_same or copy.bytes not in sizes:
            continue
        what = copy.argument if copy.argument in names else "a result" if copy.is_result and not copy.argument else ""
        if what:
            yield f"{what} is copied whole, {format_bytes(copy.bytes)}, at {copy.where or 'no known line'}", copy.name


def _is_of(op_name: str, name: str) -> bool:
    """Return whether an array is one of an argument, by what JAX calls both: `state['w']` and `state`."""
    return op_name == name or op_name.startswith((f"{name}[", f"{name}."))
