"""The two calls that compile a function for one target or for several, and return every stage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import targets
from xla_inspect.captured import Captures
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.targets import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from xla_inspect.captured import Capture
    from xla_inspect.compilation.lowering import Program

JIT_OPTIONS = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")
MESH_OPTIONS = ("mesh", "specs")


def capture(  # noqa: PLR0913 - those of jax.jit, which a reader knows, and three of its own
    fn: Callable[..., Any],
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu",
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    mesh: Mapping[str, int] | None = None,
    specs: tuple[Any, ...] | None = None,
    options: Mapping[str, str | int | bool] | None = None,
    machine: bool = False,
    passes: bool = True,
    reasons: bool = False,
    **example_kwargs: Any,  # noqa: ANN401 - likewise
) -> Capture:
    """Compile a function for a target, and return every stage from jaxpr to generated code as plain data.

    The function runs nowhere: only the shapes and dtypes of the examples matter (and the values of static ones), so
    `jax.ShapeDtypeStruct` serves as well as an array. Nothing of the result depends on this machine: where shardings of
    the examples or of the function name its devices, the target's stand in for them, which must be as many.
    Captures are cached on disk by content (see `xla_inspect.compilation.capture_cache`).

    Args:
        fn: Any function that `jax.jit` takes. One that is jitted already keeps its own options.
        *example_args: Positional arguments: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them.
        target: A short name from `available()`, with a topology where wanted (`h100:8`, `tpu-v5e:2x4`).
        static_argnums: As in `jax.jit`.
        static_argnames: As in `jax.jit`.
        donate_argnums: As in `jax.jit`.
        donate_argnames: As in `jax.jit`.
        mesh: Axis names to sizes, such as `{"data": 4, "model": 2}`: the target's devices are laid out so, and the
            program is partitioned over them. It may name the axes in `PartitionSpec`s of its own.
        specs: With `mesh`, how each positional example lies on it: a `PartitionSpec`, or a pytree of them, per example.
        options: XLA options by name, such as `{"xla_gpu_enable_triton_gemm": False}`.
        machine: Whether the capture holds machine code too: a GPU's kernels assembled and disassembled, which takes two
            short processes each; and a TPU's programs below HLO (`low_level`), for which it is compiled once more, in
            a process whose libtpu writes them.
        passes: Whether the capture holds the module after each pass that changed it, which for a large program takes
            most of the time and room that a capture takes beside the compile.
        reasons: Whether the capture holds what the compiler says of its reasons, for which it is compiled once more, in
            a process whose compilers write their logs.
        **example_kwargs: Keyword arguments of the function.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: No such target or option, or arguments that do not go together.
        jax.errors.JaxRuntimeError: The compiler gives up, as where memory does not suffice. What it left until then is
            the error's `capture`, whose own `error` is what the compiler said.
    """
    settings = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "mesh": mesh,
        "specs": specs,
    }
    program = describe_program(fn, example_args, {**settings, **example_kwargs})
    return begin_capture(program, target, options, passes=passes, reasons=reasons, machine=machine)()


def describe_program(fn: Callable[..., Any], args: tuple[Any, ...], arguments: Mapping[str, Any]) -> Program:
    """Return the program of a function and its examples, to be captured for any number of targets.

    Args:
        fn: As in `capture`.
        args: The function's positional arguments.
        arguments: Options of `jax.jit`, mesh and specs, where they are not None; and keyword arguments of the function.

    Raises:
        InspectError: Arguments that do not go together.
    """
    targets.settle()
    from xla_inspect.compilation import lowering

    jit_options = {name: arguments[name] for name in JIT_OPTIONS if arguments.get(name) is not None}
    kwargs = {name: value for name, value in arguments.items() if name not in {*JIT_OPTIONS, *MESH_OPTIONS}}
    described = lowering.describe_call(fn, args, kwargs, jit_options)
    program = replace(described, mesh=arguments.get("mesh"), specs=arguments.get("specs"))
    if program.specs and not program.mesh:
        message = "specs says how examples lie on a mesh; give mesh too, such as mesh={'data': 8}"
        raise InspectError(message)
    return program


def begin_capture(  # noqa: PLR0913 - what is compiled for what, and how much of it is kept
    program: Program,
    target: str,
    options: Mapping[str, str | int | bool] | None,
    *,
    passes: bool = True,
    timed: bool = True,
    reasons: bool = False,
    machine: bool = False,
    code: bool = True,
) -> Callable[[], Capture]:
    """Compile a program for a target, and return what reads the capture, in this thread or another.

    Args:
        program: The program.
        target: As in `capture`.
        options: As in `capture`.
        passes: As in `capture`.
        timed: Whether a capture without its passes tells all the same which ran, and how long each took.
        reasons: As in `capture`.
        machine: As in `capture`.
        code: Whether the capture holds the generated code, and the places of the jaxpr, which nobody needs who counts.
    """
    from xla_inspect.compilation import compiler_run

    asked = {"passes": passes, "timed": timed, "reasons": reasons, "machine": machine, "code": code}
    read = compiler_run.capture_program(program, targets.find_target(target), options or {}, **asked)
    return (lambda: add_machine_code(read())) if machine else read


def add_machine_code(compiled: Capture) -> Capture:
    """Return a capture with the machine code of its kernels, where it is one for a GPU."""
    from xla_inspect.compilation.sass import disassemble

    return replace(compiled, code=compiled.code + disassemble(compiled))


def capture_all(  # noqa: PLR0913 - what differs by target, and what all are told
    fn: Callable[..., Any],
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    targets: Sequence[str] = USUAL,
    options: Mapping[str, Mapping[str, str | int | bool]] | None = None,
    machine: bool = False,
    refusals: bool = False,
    passes: bool = True,
    reasons: bool = False,
    **arguments: Any,  # noqa: ANN401 - likewise
) -> Captures:
    """Compile a function for several targets; one that this machine cannot compile for stays as a gap.

    The targets are compiled one after the other: a GPU compile takes most of the time, and all cores by itself.

    Args:
        fn: As in `capture`.
        *example_args: As in `capture`.
        targets: Short names.
        options: XLA options by target.
        machine: As in `capture`.
        refusals: Whether a target whose compiler, or JAX for it, refuses the program stays as a gap too, with what it
            says. By default the error is raised.
        passes: As in `capture`.
        reasons: As in `capture`.
        **arguments: Any other argument of `capture`, and keyword arguments of the function.

    Raises:
        InspectError: No such target or option, or arguments that do not go together.
    """
    program = describe_program(fn, example_args, arguments)
    reading: dict[str, Future[Capture]] = {}
    missing: dict[str, str] = {}
    # What one compile left is read beside the next compile.
    with ThreadPoolExecutor(1) as pool:
        for target in targets:
            try:
                read = begin_capture(
                    program, target, (options or {}).get(target), passes=passes, reasons=reasons, machine=machine
                )
            except TargetUnavailableError as error:
                missing[target] = error.reason
            except Exception as error:
                if not refusals:
                    raise
                missing[target] = str(error).partition("\n")[0] or type(error).__name__
            else:
                reading[target] = pool.submit(read)
        captures = {target: future.result() for target, future in reading.items()}
    return Captures(captures, missing, tuple(targets))
