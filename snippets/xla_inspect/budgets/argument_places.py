"""A search for the arrays of an argument that a program does not update in place: not reused, or copied whole."""

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
    """Return the name of an argument and the parameters of the program for its arrays.

    Args:
        capture: The program.
        call: The call of the program.
        argument: The number of a positional argument, or the name of an argument.

    Raises:
        InspectError: There is no such argument, or the program uses none of its arrays.
    """
    try:
        signature = inspect.signature(call.function)
    # Some callables, such as functions written in C, have no signature; their arguments are then known by number
    # only.
    except (TypeError, ValueError):
        signature = None
    names = name_positions(signature, len(call.args))
    # A bool is an int in Python, but never a meaningful argument number.
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
    parameters = tuple(
        # JAX drops arrays that the program never reads, so an argument may have fewer parameters than arrays.
        parameter
        for parameter in capture.module.entry.parameters
        if _is_of(parameter.op_name or parameter.name, name)
    )
    if not parameters:
        message = f"{capture.program} uses no array of its argument {name!r}, so it cannot update any in place"
        raise InspectError(message)
    return name, parameters


def tell_untaken(capture: Capture, parameters: Sequence[Instruction]) -> Iterator[tuple[str, str]]:
    """Yield each array of an argument whose memory no result reuses: a sentence, and the name to ask `why` about."""
    # Donation is only permission to reuse memory; the module's aliases list the donations that XLA actually used.
    reused_numbers = {*capture.module.aliases.values()}
    for parameter in parameters:
        name = parameter.op_name or parameter.name
        if parameter.parameter_number not in reused_numbers:
            yield f"{name} ({format_bytes(parameter.shape.bytes)}): no result takes its place", name


def tell_copied(capture: Capture, parameters: Sequence[Instruction]) -> Iterator[tuple[str, str]]:
    """Yield each whole copy of an argument's array or of a result of its size: a sentence, and the copy's name."""
    names = {parameter.op_name or parameter.name for parameter in parameters}
    sizes = {parameter.shape.bytes for parameter in parameters}
    for copy in list_copies(capture):
        # A copy with another layout is not made to protect the argument, and one of another size is not of a whole
        # array.
        if not copy.is_same or copy.bytes not in sizes:
            continue
        what = copy.argument if copy.argument in names else "a result" if copy.is_result and not copy.argument else ""
        if what:
            yield f"{what} is copied whole, {format_bytes(copy.bytes)}, at {copy.where or 'no known line'}", copy.name


def _is_of(op_name: str, name: str) -> bool:
    """Return whether an array belongs to an argument, by their JAX names, such as `state['w']` and `state`."""
    return op_name == name or op_name.startswith((f"{name}[", f"{name}."))
