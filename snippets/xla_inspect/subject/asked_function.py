"""The function of the reader's code that is asked about, found with its arguments, and called as the options say."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.compilation import list_program_members
from xla_inspect.errors import InspectError
from xla_inspect.subject import loading, nn_models, shapes
from xla_inspect.subject.function_names import name_function
from xla_inspect.subject.subject import Call, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from xla_inspect.subject.request import Request


@cache
def _hide_frames() -> None:
    """Keep the functions that are put around the reader's out of the lines that JAX notes."""
    folder = Path(__file__).parent
    for wrappers in (folder, folder.parent / "releases"):
        jax_private.hide_frames_of(str(wrappers))


def read_function(request: Request) -> Subject:
    """Return the subject that a function of the reader's code is.

    Raises:
        InspectError: The file, the function or its arguments are missing, or do not go together.
    """
    place, name = loading.split_name(request.words[0])
    return read_member(request, loading.load_place(place), place, name)


def read_member(
    request: Request,
    module: ModuleType,
    place: str,
    name: str,
    given: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None,
) -> Subject:
    """Return the subject that a function of a module is.

    Args:
        request: How it is called.
        module: The module.
        place: What errors call the module.
        name: The function's name there, or one of its PROGRAMS.
        given: Positional and keyword arguments in the place of those that the request or the module tells.

    Raises:
        InspectError: As `read_function`.
    """
    _hide_frames()
    is_told = given or request.args or request.args_from or hasattr(module, "EXAMPLE")
    if call := _find_program(module, name if is_told else loading.find_listed(module, name)):
        call = replace(call, args=given[0], kwargs=given[1]) if given else call
        return Subject(name, _apply(request, call), options=request.xla)
    found = loading.find_named(module, name, place)
    args, kwargs = given or _find_arguments(request, module, place)
    is_transformed = bool(request.grad or request.vmap)
    made = _make_call(module, place, name, Call(found, args, kwargs), is_transformed=is_transformed)
    call = _apply(request, made)
    call = replace(call, file=Path(module.__file__).absolute() if module.__file__ else None)
    return Subject(name, call, options=request.xla)


def read_call(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    settings: Mapping[str, Any],
    options: Mapping[str, str | int | bool] | None = None,
) -> Subject:
    """Return the subject that a function with its arguments is, or a model of Flax, Equinox or Haiku.

    Args:
        function: The function or model.
        args: Its positional arguments: arrays, shapes, or pytrees of them.
        kwargs: Its keyword arguments.
        settings: Options of `jax.jit`, `mesh` and `specs`, as `capture` takes them.
        options: Options of XLA.

    Raises:
        InspectError: It is nothing that can be called.
    """
    _hide_frames()
    if model := nn_models.as_function(function, args, kwargs):
        return Subject(type(function).__name__, Call(*nn_models.hold_rest(*model), kwargs, settings), options=options)
    if not callable(function):
        message = f"{function!r:.80} is of the type {type(function).__name__}, and nothing that can be called"
        raise InspectError(message)
    static = _find_static(function, settings)
    return Subject(
        name_function(function), Call(*nn_models.hold_rest(function, args, static), kwargs, settings), options=options
    )


def read_notebook_call(request: Request, call: Call) -> Subject:
    """Return the subject that a call in a notebook is, with the options of the command applied.

    Raises:
        InspectError: As `read_call`.
    """
    subject = read_call(call.function, call.args, call.kwargs, {})
    return Subject(subject.name, _apply(request, subject.call or call), options=request.xla)


def _find_static(function: Callable[..., Any], settings: Mapping[str, Any]) -> frozenset[int]:
    """Return the numbers of the positional arguments that are static."""
    numbers = settings.get("static_argnums") or ()
    found = {numbers} if isinstance(numbers, int) else {*numbers}
    names = settings.get("static_argnames") or ()
    named = {names} if isinstance(names, str) else {*names}
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    return frozenset(found | {number for number, name in enumerate(parameters) if name in named})


def _find_program(module: ModuleType, name: str) -> Call | None:
    """Return what a file offers under a name in its PROGRAMS, with its arguments, or None."""
    if name not in getattr(module, "PROGRAMS", {}):
        return None
    member = list_program_members(module, "")[name]
    return Call(member.function, member.example, {}, member.arguments)


def _find_arguments(request: Request, module: Any, place: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if request.args:
        return shapes.read_shapes(request.args), {}
    if request.args_from:
        return _make_arguments(request.args_from)
    example, named = getattr(module, "EXAMPLE", None), getattr(module, "EXAMPLE_KWARGS", {})
    if example is None and not named:
        message = (
            f"with which arguments? {place} has no EXAMPLE, so say it with --args 'f32[64,128], i32[]', or name the "
            "function that makes them with --args-from FILE.py:FUNCTION"
        )
        raise InspectError(message)
    given = () if example is None else example
    if not isinstance(given, tuple):
        kind = type(given).__name__
        message = f"{place}: EXAMPLE is a tuple of the arguments, shapes are enough, and this one is of the type {kind}"
        raise InspectError(message)
    return given, dict(named)


def _make_arguments(named: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the shapes of what a function of the reader's makes, which is not run for it."""
    import jax

    place, name = loading.split_name(named)
    # Imported once more, the file would have other objects than those that the function asked about reads.
    make = loading.find_named(loading.find_loaded(place) or loading.load_place(place), name, place)
    try:
        made = jax.eval_shape(make)
    except TypeError as error:
        # What is no array is told from the shapes of arrays only where the function runs.
        if "JAX type" not in str(error) and "valid JAX" not in str(error):
            raise
        made = make()
    return made if isinstance(made, tuple) else (made,), {}


def _make_call(module: ModuleType, place: str, name: str, asked: Call, *, is_transformed: bool) -> Call:
    """Return what is to be compiled where `asked.function` is whatever the name stands for in a module."""
    found = _instantiate(asked.function, name) if isinstance(asked.function, type) else asked.function
    if call := nn_models.as_function(found, asked.args, asked.kwargs):
        return Call(*nn_models.hold_rest(*call), asked.kwargs)
    # A derivative or a batch is made of the function itself.
    jitted_as = found if is_transformed else nn_models.jit_as_nnx(found, asked.args, asked.kwargs)
    if jitted := _open_jitted(jitted_as, asked):
        return jitted
    if not callable(found):
        message = f"{place}: {name} is of the type {type(found).__name__}, and nothing that can be called"
        raise InspectError(message)
    _check_kind(found, place, name)
    owner, _, method = name.rpartition(".")
    held = loading.find_named(module, owner, place) if owner else None
    if isinstance(held, type) and inspect.isfunction(found) and not _takes(found, asked):
        found = getattr(_instantiate(held, owner), method)
    return Call(*nn_models.hold_rest(found, asked.args), asked.kwargs, dict(getattr(module, "ARGUMENTS", {})))


def _check_kind(function: Callable[..., Any], place: str, name: str) -> None:
    """Do nothing for a function that JAX can trace, unless it fails as it runs.

    Raises:
        InspectError: It is a coroutine or a generator.
    """
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if not is_async and not inspect.isgeneratorfunction(function):
        return
    line = inspect.unwrap(function).__code__.co_firstlineno
    kind, how = ("async", "def") if is_async else ("a generator", "return")
    message = f"{place}:{line}: {name} is {kind}, which JAX cannot trace; write it with a plain {how}"
    raise InspectError(message)


def _open_jitted(function: Any, asked: Call) -> Call | None:
    """Return the call of `jax.jit` inside a function that a library jitted, such as `nnx.jit`, or None for others."""
    import jax

    if not hasattr(function, "lower") or isinstance(function, type(jax.jit(_open_jitted))):
        return None
    from xla_inspect.subject.compile_listener import ANY, ReachedError, Watch

    watch = Watch(ANY)
    with watch.watching(), suppress(ReachedError):
        try:
            function.lower(*asked.args, **asked.kwargs)
        except TypeError:
            # To Equinox a shape is no array, but a tracer of one is.
            call, arrays = nn_models.hold_rest(partial(function), asked.args)
            jax.eval_shape(call, *arrays, **asked.kwargs)
    return watch.reached.call if watch.reached else None


def _instantiate(kind: type, name: str) -> Any:
    try:
        return kind()
    except TypeError as error:
        message = (
            f"{name} is a class, and an object of it needs arguments ({error}); "
            "make one in the file, MODEL = ..., and ask about that"
        )
        raise InspectError(message) from error


def _takes(function: Callable[..., Any], asked: Call) -> bool:
    try:
        inspect.signature(function).bind(*asked.args, **asked.kwargs)
    except TypeError:
        return False
    return True


def _apply(request: Request, call: Call) -> Call:
    """Return a call as the options ask for it: with a batch, differentiated, with arguments donated or static."""
    function, args = call.function, call.args
    if request.vmap:
        from xla_inspect.releases import map_over

        function, args = map_over(function, args, request.vmap)
    if request.grad:
        from xla_inspect.releases import differentiate

        function = differentiate(function, lambda why: InspectError(f"--grad: {request.words[0]} {why}"))
    mesh = {"mesh": dict(request.mesh)} if request.mesh else {}
    return Call(function, args, call.kwargs, {**call.settings, **mesh, **request.jit_options})
