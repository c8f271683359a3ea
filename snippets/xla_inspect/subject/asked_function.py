"""Subjects for functions and models in the user's code, with their arguments and the command's options applied."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.compilation import JIT_OPTIONS, list_program_members
from xla_inspect.errors import InspectError
from xla_inspect.subject import loading, shapes
from xla_inspect.subject.function_names import name_function, takes_nothing
from xla_inspect.subject.request import Request
from xla_inspect.subject.subject import Call, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


@cache
def hide_frames() -> None:
    """Exclude this package's wrappers around user functions from the source lines that JAX records."""
    folder = Path(__file__).parent
    for wrappers in (folder, *(folder.parent / name for name in ("jax_private", "releases", "stablehlo"))):
        jax_private.hide_frames_of(str(wrappers))


def read_function(request: Request) -> Subject:
    """Import the user's file or module, and return the subject for its function that the request names.

    Raises:
        InspectError: The file, the function or its arguments are missing, or do not match each other.
    """
    place, name = loading.split_name(request.words[0])
    return read_member(request, loading.load_place(place), place, name)


def read_member(
    request: Request,
    module: ModuleType,
    place: str,
    name: str,
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None,
) -> Subject:
    """Return the subject for a function of a module.

    Args:
        request: The options of the call.
        module: The module.
        place: The module's name in error messages.
        name: The function's name in the module, or a key of its PROGRAMS.
        arguments: Positional and keyword arguments that replace those in the request or the module.

    Raises:
        InspectError: As `read_function`.
    """
    from xla_inspect.subject import nn_models

    hide_frames()
    # A function without arguments of its own gets those of its entry in PROGRAMS, if it has one.
    is_told = arguments or request.args or request.args_from or hasattr(module, "EXAMPLE")
    call = _find_program(module, name if is_told else loading.find_listed(module, name))
    function = call.function if call else loading.find_named(module, name, place)
    is_model = bool(nn_models.find_framework(function))
    if request.dims and (request.args or not is_model):
        message = f"--dim completes the input signature of a framework's model; give all shapes of {name} with --args"
        raise InspectError(message)
    if call:
        call = replace(call, args=arguments[0], kwargs=arguments[1]) if arguments else call
        return Subject(name, apply_options(request, call), options=request.xla)
    has_signature = is_model and (request.dims or not is_told)
    needs_none = not (request.args or request.args_from) and takes_nothing(function)
    args, kwargs = arguments or (((), {}) if has_signature or needs_none else _find_arguments(request, module, place))
    base = _make_call(request, module, place, name, Call(function, args, kwargs))
    call = apply_options(request, base)
    # The function may be a wrapper by now, and the wrapper's file is not the user's.
    call = replace(call, file=Path(module.__file__).absolute() if module.__file__ else None)
    return Subject(name, call, options=request.xla)


def read_call(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    settings: Mapping[str, Any],
    options: Mapping[str, str | int | bool] | None = None,
) -> Subject:
    """Return the subject for a function, or a model of Flax, Equinox or Haiku, and its arguments.

    Args:
        function: The function or model.
        args: Its positional arguments: arrays, shapes, or pytrees of them.
        kwargs: Its keyword arguments.
        settings: Options of `jax.jit` for static and donated arguments, `mesh` and `specs`, as in `capture`.
        options: Options of XLA.

    Raises:
        InspectError: The object is not callable.
    """
    from xla_inspect.subject import nn_models

    hide_frames()
    if nn_models.find_framework(function):
        from xla_inspect.subject import frameworks

        call = frameworks.export_model(Request(()), function, args, kwargs, type(function).__name__)
        return Subject(type(function).__name__, replace(call, settings={**call.settings, **settings}), options=options)
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
    """Return the subject for a call in a notebook, with the command's options applied.

    Raises:
        InspectError: As `read_call`.
    """
    subject = read_call(call.function, call.args, call.kwargs, {})
    return Subject(subject.name, apply_options(request, subject.call or call), options=request.xla)


def _find_static(function: Callable[..., Any], settings: Mapping[str, Any]) -> frozenset[int]:
    """Return the numbers of the static positional arguments, from `static_argnums` and `static_argnames`."""
    numbers = settings.get("static_argnums") or ()
    positions = {numbers} if isinstance(numbers, int) else {*numbers}
    names = settings.get("static_argnames") or ()
    keywords = {names} if isinstance(names, str) else {*names}
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        # Some callables, such as built-in functions, have no signature.
        parameters = []
    return frozenset(positions | {number for number, name in enumerate(parameters) if name in keywords})


def _find_program(module: ModuleType, name: str) -> Call | None:
    """Return the call for an entry of a file's PROGRAMS, or None if there is no such entry."""
    if name not in getattr(module, "PROGRAMS", {}):
        return None
    member = list_program_members(module, "")[name]
    return Call(member.function, member.example, {}, member.arguments)


def _find_arguments(request: Request, module: Any, place: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if request.args:
        return shapes.read_shapes(request.args), {}
    if request.args_from:
        return _make_arguments(request.args_from)
    example, keywords = getattr(module, "EXAMPLE", None), getattr(module, "EXAMPLE_KWARGS", {})
    if example is None and not keywords:
        message = (
            f"with which arguments? {place} has no EXAMPLE, so say it with --args 'f32[64,128], i32[]', or name the "
            "function that makes them with --args-from FILE.py:FUNCTION"
        )
        raise InspectError(message)
    arguments = () if example is None else example
    if not isinstance(arguments, tuple):
        kind = type(arguments).__name__
        message = f"{place}: EXAMPLE is a tuple of the arguments, shapes are enough, and this one is of the type {kind}"
        raise InspectError(message)
    return arguments, dict(keywords)


def _make_arguments(maker: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the results of a user function as positional arguments, and no keyword arguments.

    The results are shapes from a trace if all are arrays; otherwise the function runs, and they are its values.
    """
    import jax

    place, name = loading.split_name(maker)
    # A second import would create objects that differ from those in the module of the inspected function.
    make = loading.find_named(loading.find_loaded(place) or loading.load_place(place), name, place)
    try:
        arguments = jax.eval_shape(make)
    except TypeError as error:
        # `jax.eval_shape` rejects results that are not arrays, so the function has to run.
        if "JAX type" not in str(error) and "valid JAX" not in str(error):
            raise
        arguments = make()
    return arguments if isinstance(arguments, tuple) else (arguments,), {}


def _make_call(request: Request, module: ModuleType, place: str, name: str, original: Call) -> Call:
    """Return the call to compile for a function, class, model or jitted object in a module.

    Raises:
        InspectError: The object cannot be called or traced, or its class cannot be instantiated without arguments.
    """
    from xla_inspect.subject import nn_models

    function = _instantiate(original.function, name) if isinstance(original.function, type) else original.function
    if nn_models.find_framework(function):
        from xla_inspect.subject import frameworks

        return frameworks.export_model(request, function, original.args, original.kwargs, name)
    if call := nn_models.as_function(function, original.args, original.kwargs):
        return Call(*nn_models.hold_rest(*call), original.kwargs)
    # Derivatives and batches are built from the function itself, so it is not jitted first.
    outer = function if request.grad or request.vmap else nn_models.jit_as_nnx(function, original.args, original.kwargs)
    if jitted := _open_jitted(outer, original):
        return jitted
    if not callable(function):
        message = f"{place}: {name} is of the type {type(function).__name__}, and nothing that can be called"
        raise InspectError(message)
    _check_kind(function, place, name)
    owner, _, method = name.rpartition(".")
    container = loading.find_named(module, owner, place) if owner else None
    # A plain method lacks its object, so one is created unless the arguments already include it.
    if isinstance(container, type) and inspect.isfunction(function) and not _takes(function, original):
        function = getattr(_instantiate(container, owner), method)
    settings = dict(getattr(module, "ARGUMENTS", {}))
    static = _find_static(function, {**settings, **request.jit_options})
    return Call(*nn_models.hold_rest(function, original.args, static), original.kwargs, settings)


def _check_kind(function: Callable[..., Any], place: str, name: str) -> None:
    """Check that a function is of a kind that JAX can trace.

    Raises:
        InspectError: The function is a coroutine or a generator.
    """
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if not is_async and not inspect.isgeneratorfunction(function):
        return
    line = inspect.unwrap(function).__code__.co_firstlineno
    kind, how = ("async", "def") if is_async else ("a generator", "return")
    message = f"{place}:{line}: {name} is {kind}, which JAX cannot trace; write it with a plain {how}"
    raise InspectError(message)


def _open_jitted(function: Any, original: Call) -> Call | None:
    """Return the inner call of `jax.jit` of a function that a library jitted, such as `nnx.jit`; None for others.

    Others are functions that are not jitted, and those that `jax.jit` itself returned.
    """
    import jax

    from xla_inspect.subject import nn_models

    # The type of the functions that `jax.jit` returns has no public name, so it is taken from such a function.
    if not hasattr(function, "lower") or isinstance(function, type(jax.jit(_open_jitted))):
        return None
    from xla_inspect.subject.compile_listener import ANY, ReachedError, Watch

    watch = Watch(ANY)

    def reach(use: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        # The watch stops the function at its inner call of `jax.jit`, so nothing is compiled.
        with watch.watching(), suppress(ReachedError):
            use(*args, **kwargs)

    try:
        reach(function.lower, *original.args, **original.kwargs)
    except Exception:
        if not any(map(_is_shape, jax.tree.leaves(original.args))):
            raise
        # Equinox passes a shape to the user's function as it is, but treats a tracer as an array.
        call, shapes = nn_models.hold_rest(partial(function), original.args, is_array=_is_shape)
        jax.eval_shape(partial(reach, call), *shapes, **original.kwargs)
    return watch.reached.call if watch.reached else None


def _is_shape(leaf: Any) -> bool:
    import jax

    return isinstance(leaf, jax.ShapeDtypeStruct)


def _instantiate(kind: type, name: str) -> Any:
    try:
        return kind()
    except TypeError as error:
        message = (
            f"{name} is a class, and an object of it needs arguments ({error}); "
            "make one in the file, MODEL = ..., and ask about that"
        )
        raise InspectError(message) from error


def _takes(function: Callable[..., Any], original: Call) -> bool:
    try:
        inspect.signature(function).bind(*original.args, **original.kwargs)
    except TypeError:
        return False
    return True


def apply_options(request: Request, call: Call) -> Call:
    """Return a call with the options applied: batching, differentiation, mesh, donated and static arguments."""
    function, args = call.function, call.args
    # Batching comes first, so that `--grad` differentiates the function of the whole batch.
    if request.vmap:
        from xla_inspect.releases import map_over

        function, args = map_over(function, args, request.vmap)
    if request.grad:
        from xla_inspect.releases import differentiate

        function = differentiate(function, lambda why: InspectError(f"--grad: {request.words[0]} {why}"))
    mesh = {"mesh": dict(request.mesh)} if request.mesh else {}
    # The command's options come last, because they override those of the file.
    applied = Call(function, args, call.kwargs, {**call.settings, **mesh, **request.jit_options})
    return _shard(request, applied) if request.in_spec or request.out_spec else applied


def _shard(request: Request, call: Call) -> Call:
    """Return a call with the shardings of `--in-spec` and `--out-spec`; other arrays keep those of the file."""
    import jax

    from xla_inspect.releases import SpecError, shard_call

    call = call.place_specs()
    jitted = jax.jit(call.function, **{name: value for name, value in call.settings.items() if name in JIT_OPTIONS})
    try:
        with jax.sharding.use_abstract_mesh(call.mesh):
            args, kwargs, results = shard_call(call, jitted, (request.in_spec, request.out_spec), call.mesh)
    except SpecError as error:
        raise InspectError(str(error)) from error
    return replace(call, args=args, kwargs=kwargs, settings={**call.settings, **results})
