"""The functions that compile a program for one target or several and return every stage."""

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
"""The options of `jax.jit` for static and donated arguments."""

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

    The function is not run: only the shapes and dtypes of the examples matter, and the values of static arguments. A
    `jax.ShapeDtypeStruct` serves as well as an array. The result does not depend on this machine: if the shardings of
    the examples or the function name this machine's devices, an equal number of the target's devices replace them.
    Captures are cached on disk by content (see `xla_inspect.compilation.capture_cache`).

    Args:
        fn: Any function that `jax.jit` accepts. A function that is already jitted keeps its own options.
        *example_args: Positional arguments: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them.
        target: A short name from `available()`, optionally with a topology (`h100:8`, `tpu-v5e:2x4`).
        static_argnums: As in `jax.jit`.
        static_argnames: As in `jax.jit`.
        donate_argnums: As in `jax.jit`.
        donate_argnames: As in `jax.jit`.
        mesh: Axis names and sizes, such as `{"data": 4, "model": 2}`. The target's devices form this mesh, and the
            program is partitioned over it. The program's own `PartitionSpec`s may use the axis names.
        specs: With `mesh`, the sharding of each positional example: a `PartitionSpec`, or a pytree of them.
        options: XLA options by name, such as `{"xla_gpu_enable_triton_gemm": False}`.
        machine: Whether to add machine code. For an NVIDIA GPU, each kernel is assembled and disassembled in two short
            processes. For a TPU, the programs below HLO (`low_level`) are added, which needs a second compile in a
            process in which libtpu dumps them.
        passes: Whether to store the module after each pass that changed it. For a large program, this takes most of
            the time and disk space that a capture needs in addition to the compile.
        reasons: Whether to store the compiler's log of its decisions, which needs a second compile in a process with
            verbose logging.
        **example_kwargs: Keyword arguments of the function.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The target or an option does not exist, or the arguments contradict each other.
        jax.errors.JaxRuntimeError: The compiler failed, for example because memory did not suffice. The exception's
            `capture` has the stages completed before the failure, and the compiler's message as its `error`.
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
    """Return the program of a function and its examples, which can be captured for any number of targets.

    Args:
        fn: As in `capture`.
        args: The function's positional arguments.
        arguments: The four options of `jax.jit` for static and donated arguments (`JIT_OPTIONS`), `mesh` and `specs`,
            each of which may be None or missing; any other name is a keyword argument of the function.

    Raises:
        InspectError: `fn` is not callable, or is already jitted and has options, or `specs` comes without `mesh`.
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
    """Compile a program for a target unless it is cached, and return a function that builds the capture in any thread.

    Args:
        program: The program.
        target: As in `capture`.
        options: As in `capture`.
        passes: As in `capture`.
        timed: Whether a capture without `passes` still lists the passes that ran and their durations.
        reasons: As in `capture`.
        machine: As in `capture`.
        code: Whether to store the generated code and the jaxpr's source locations; callers that only count do not
            need them.
    """
    from xla_inspect.compilation import program_capture

    parts = {"passes": passes, "timed": timed, "reasons": reasons, "machine": machine, "code": code}
    build = program_capture.capture_program(program, targets.find_target(target), options or {}, **parts)
    # The kernels are assembled in the returned function, so that the next target can be compiled meanwhile.
    return (lambda: add_machine_code(build())) if machine else build


def add_machine_code(compiled: Capture) -> Capture:
    """Return a copy of a capture with the machine code of its PTX kernels added; without PTX, nothing is added."""
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
    """Compile a function for several targets, and return the captures, with a gap for each unavailable target.

    The targets are compiled one after the other, because a GPU compile takes most of the time and uses all cores.

    Args:
        fn: As in `capture`.
        *example_args: As in `capture`.
        targets: Short names of the targets.
        options: XLA options by target and name.
        machine: As in `capture`.
        refusals: Whether to record a gap with the error message for a target if JAX or the compiler rejects the
            program. By default the error is raised.
        passes: As in `capture`.
        reasons: As in `capture`.
        **arguments: Any other argument of `capture`, and keyword arguments of the function.

    Raises:
        InspectError: The target or an option does not exist, or the arguments contradict each other.
    """
    program = describe_program(fn, example_args, arguments)
    reading: dict[str, Future[Capture]] = {}
    missing: dict[str, str] = {}
    # The dumps of one compile are read in another thread while the next target is compiled.
    with ThreadPoolExecutor(1) as pool:
        for target in targets:
            try:
                build = begin_capture(
                    program, target, (options or {}).get(target), passes=passes, reasons=reasons, machine=machine
                )
            except TargetUnavailableError as error:
                missing[target] = error.reason
            except Exception as error:
                if not refusals:
                    raise
                # Some errors have no message, and a gap always needs a reason.
                missing[target] = str(error).partition("\n")[0] or type(error).__name__
            else:
                reading[target] = pool.submit(build)
        captures = {target: future.result() for target, future in reading.items()}
    return Captures(captures, missing, tuple(targets))
