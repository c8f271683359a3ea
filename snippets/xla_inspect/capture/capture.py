"""The two calls that compile a function for one target or for several, and return every stage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect.capture import targets
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.hlo.record import Captures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from xla_inspect.hlo.record import Capture

USUAL = ("cpu", "h100", "tpu-v5e")
"""The targets that pages show unless they say otherwise."""


def capture(  # noqa: PLR0913 - those of jax.jit, which a reader knows, and three of its own
    fn: Callable[..., Any],
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    target: str = "cpu",
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    options: Mapping[str, str | int | bool] | None = None,
    sass: bool = False,
    **example_kwargs: Any,  # noqa: ANN401 - likewise
) -> Capture:
    """Compile a function for a target, and return every stage from jaxpr to generated code as plain data.

    The function runs nowhere: only the shapes and dtypes of the examples matter (and the values of static ones), so
    `jax.ShapeDtypeStruct` serves as well as an array. Nothing of the result depends on this machine.
    Captures are cached on disk by content (see `xla_inspect.capture.cache`).

    Args:
        fn: Any function that `jax.jit` takes. One that is jitted already keeps its own options.
        *example_args: Positional arguments: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them.
        target: A short name from `available()`, with a topology where wanted (`h100:8`, `tpu-v5e:2x4`).
        static_argnums: As in `jax.jit`.
        static_argnames: As in `jax.jit`.
        donate_argnums: As in `jax.jit`.
        donate_argnames: As in `jax.jit`.
        options: XLA options by name, such as `{"xla_gpu_enable_triton_gemm": False}`.
        sass: Also assemble and disassemble a GPU's kernels, which takes two short processes each.
        **example_kwargs: Keyword arguments of the function.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: No such target or option, or arguments that do not go together.
    """
    chosen = targets.find(target)
    targets.settle()
    from xla_inspect.capture import lowering, pipeline

    given = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
    }
    jit_options = {name: value for name, value in given.items() if value is not None}
    program = lowering.describe(fn, example_args, example_kwargs, jit_options)
    found = pipeline.capture_program(program, chosen, options or {})
    return add_sass(found) if sass else found


def add_sass(found: Capture) -> Capture:
    """Return a capture with the machine code of its kernels, where it is one for a GPU."""
    from xla_inspect.capture.sass import disassemble

    return replace(found, code=found.code + disassemble(found))


def capture_all(
    fn: Callable[..., Any],
    *example_args: Any,  # noqa: ANN401 - whatever the function takes
    targets: Sequence[str] = USUAL,
    options: Mapping[str, Mapping[str, str | int | bool]] | None = None,
    sass: bool = False,
    **arguments: Any,  # noqa: ANN401 - likewise
) -> Captures:
    """Compile a function for several targets; one that this machine cannot compile for stays as a gap.

    The targets are compiled one after the other: a GPU compile takes most of the time, and all cores by itself.

    Args:
        fn: As in `capture`.
        *example_args: As in `capture`.
        targets: Short names.
        options: XLA options by target.
        sass: As in `capture`.
        **arguments: Any other argument of `capture`, and keyword arguments of the function.

    Raises:
        InspectError: No such target or option, or arguments that do not go together.
    """
    found: dict[str, Capture] = {}
    missing: dict[str, str] = {}
    # The assembler's processes run beside the compile for the next target.
    with ThreadPoolExecutor(1) as pool:
        waiting = []
        for target in targets:
            try:
                chosen = (options or {}).get(target)
                found[target] = capture(fn, *example_args, target=target, options=chosen, **arguments)
                waiting += [(target, pool.submit(add_sass, found[target]))] if sass else []
            except TargetUnavailableError as error:
                missing[target] = error.reason
        found.update((target, future.result()) for target, future in waiting)
    return Captures(found, missing, tuple(targets))
