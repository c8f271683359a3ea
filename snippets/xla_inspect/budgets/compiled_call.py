"""A function with its arguments, as a test gives them, compiled to be asserted of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xla_inspect.budgets.assertion_log import AssertionLog
from xla_inspect.budgets.compiled_program import CompiledProgram
from xla_inspect.budgets.measured_number import find_caller
from xla_inspect.errors import InspectError
from xla_inspect.subject import name_arguments, read_call, read_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

type Arguments = int | str | Sequence[int | str]
"""Arguments by their numbers or names."""


def hold_call(  # noqa: PLR0913 - what is compiled for what
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
    """Return a function compiled for a target, to be asserted of.

    Args:
        function: The function, jitted or not, or a model of Flax, Equinox or Haiku.
        *args: Its positional arguments: arrays, shapes, or pytrees of them; also texts of shapes, `f32[64,128], i32[]`.
        target: A short name, with a topology where wanted; of one without as many devices are taken as the mesh has.
        mesh: Axis names to sizes.
        specs: With `mesh`, how each positional argument lies on it.
        donate: The arguments that are donated, by number or name.
        static: The arguments that are static, likewise.
        options: Options of XLA.
        calls: The positional arguments of further calls, for `traces`.
        log: What notes that it was compiled, and what is asserted of it.
        **kwargs: Keyword arguments of the function; `donate_argnums` and the like as `jax.jit` takes them.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: No such target or option, or arguments that do not go together.
    """
    log = log or AssertionLog()
    settings = {name: kwargs.pop(name) for name in _OF_JIT if name in kwargs}
    settings |= {**_split("donate", donate), **_split("static", static)}
    settings |= {name: value for name, value in (("mesh", mesh), ("specs", specs)) if value is not None}
    subject = read_call(function, _read_arguments(args), kwargs, settings, options)
    named = subject.name_target(target)
    log.compiled.append((f"{subject.name} for {named}", find_caller()))
    further = [_read_arguments((each,) if isinstance(each, str) else tuple(each)) for each in calls]
    return CompiledProgram(subject, named, calls=further, log=log)


__tracebackhide__ = True
_SHAPE = re.compile(r"\s*\w+\[")
_OF_JIT = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")


def _read_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments, those that are texts of shapes read; any other text is one that the function takes."""
    read: list[Any] = []
    for given in args:
        read += read_shapes(given) if isinstance(given, str) and _SHAPE.match(given) else (given,)
    return tuple(read)


def _split(option: str, given: Arguments) -> dict[str, Any]:
    """Return what says to `jax.jit` which arguments are meant.

    Raises:
        InspectError: Something is neither a number nor a name.
    """
    items = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if bad := [each for each in items if isinstance(each, bool) or not isinstance(each, int | str)]:
        message = f"{option}={bad[0]!r} is neither the number of an argument nor its name"
        raise InspectError(message)
    return name_arguments(option, items)
