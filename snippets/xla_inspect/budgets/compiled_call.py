"""The call `hlo(...)` of the pytest fixture, which compiles a function for assertions about the program."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xla_inspect.budgets.assertion_log import AssertionLog
from xla_inspect.budgets.compiled_program import CompiledProgram
from xla_inspect.budgets.measured_number import find_caller
from xla_inspect.compilation import JIT_OPTIONS
from xla_inspect.errors import InspectError
from xla_inspect.subject import name_arguments, read_call, read_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

type Arguments = int | str | Sequence[int | str]
"""Arguments by their numbers or names."""


def hold_call(  # noqa: PLR0913 - each option describes the call or the target
    function: Callable[..., Any],
    *args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu",
    mesh: Mapping[str, int] | None = None,
    specs: tuple[Any, ...] | None = None,
    donate: Arguments = (),
    static: Arguments = (),
    options: Mapping[str, str | int | bool] | None = None,
    calls: Iterable[tuple[Any, ...] | str] = (),
    log: AssertionLog | None = None,
    **kwargs: Any,  # noqa: ANN401 - likewise
) -> CompiledProgram:
    """Compile a function for a target, and return the program with its comparable numbers and its assertions.

    If the compilation fails, the program's first number or assertion raises BrokenError.

    Args:
        function: The function, jitted or not, or a model of Flax, Equinox or Haiku.
        *args: Positional arguments: arrays, shapes, or pytrees of them, or texts of shapes: `f32[64,128], i32[]`.
        target: A short name; without a topology it has the number of devices of the mesh.
        mesh: The sizes of the mesh's axes by name.
        specs: With `mesh`, the partition spec of each positional argument.
        donate: The donated arguments, by number or name.
        static: The static arguments, by number or name.
        options: Options of XLA.
        calls: The positional arguments of further calls, for `traces`.
        log: The log of compilations and assertions.
        **kwargs: Keyword arguments of the function, and the options `static_arg*` and `donate_arg*` of `jax.jit`.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: There is no such target or option, or the arguments are incompatible.
    """
    log = log or AssertionLog()
    # These names are options of `jax.jit`; they must not reach the function as its own keyword arguments.
    settings = {name: kwargs.pop(name) for name in JIT_OPTIONS if name in kwargs}
    settings |= {**_split("donate", donate), **_split("static", static)}
    settings |= {name: value for name, value in (("mesh", mesh), ("specs", specs)) if value is not None}
    subject = read_call(function, _read_arguments(args), kwargs, settings, options)
    full_target = subject.name_target(target)
    log.compiled.append((f"{subject.name} for {full_target}", find_caller()))
    further = [_read_arguments((call,) if isinstance(call, str) else tuple(call)) for call in calls]
    return CompiledProgram(subject, full_target, calls=further, log=log)


__tracebackhide__ = True
_SHAPE = re.compile(r"\s*\w+\[")


def _read_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments, with each text of shapes such as `f32[64]` replaced by the shapes; other texts remain."""
    arguments: list[Any] = []
    for argument in args:
        # One text may list the shapes of several arguments, so it can extend the list by more than one element.
        arguments += read_shapes(argument) if isinstance(argument, str) and _SHAPE.match(argument) else (argument,)
    return tuple(arguments)


def _split(option: str, arguments: Arguments) -> dict[str, Any]:
    """Return the keyword arguments of `jax.jit` for donated or static arguments.

    Raises:
        InspectError: A value is neither a number nor a name.
    """
    # A string is iterable too, but here it is one name and not a list of letters.
    items = tuple(arguments) if isinstance(arguments, Iterable) and not isinstance(arguments, str) else (arguments,)
    if bad := [argument for argument in items if isinstance(argument, bool) or not isinstance(argument, int | str)]:
        message = f"{option}={bad[0]!r} is neither the number of an argument nor its name"
        raise InspectError(message)
    return name_arguments(option, items)
