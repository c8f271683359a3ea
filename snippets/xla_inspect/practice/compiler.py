"""The compilation of the practice's programs, with progress messages and the reader's XLA flags."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private, targets
from xla_inspect.compilation import describe_program, pin_options
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.practice import device, flags, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from xla_inspect.captured import Capture
    from xla_inspect.compilation import Program
    from xla_inspect.targets import Target

LISTS = ("xla_disable_hlo_passes",)
"""Flags whose values are lists, separated by commas."""


def start_jax() -> None:
    """Import and initialize JAX, which takes a few seconds the first time, with a progress message.

    Raises:
        InspectError: XLA would end the process because of `XLA_FLAGS`, the variable was set too late, or no platform in
            `JAX_PLATFORMS` can be loaded.
    """
    flags.check()
    if jax_private.backends_started():
        return
    with progress.doing("starting JAX"):
        targets.settle()
        import jax

        # In a terminal, JAX would write color codes into jaxprs, including those that captures store.
        jax_private.set_option("jax_pprint_use_color", value=False)
        try:
            # JAX loads its platforms at the first request for devices, and only then reports that one is missing.
            jax.devices()
        except (RuntimeError, AssertionError) as error:
            # JAX fails with an assertion if the only requested backend does not load.
            reason = str(error).strip().split("\n")[0] or "no backend loads"
            chosen = os.environ.get("JAX_PLATFORMS", "")
            message = (
                f"JAX does not start with JAX_PLATFORMS={chosen}: {reason}. Unset it, or let cpu be one of its names"
            )
            raise InspectError(message) from error


def compile_for(target: Target, function: Callable[..., Any], *example: Any, **arguments: Any) -> Capture:  # noqa: ANN401 - as `capture`
    """Return the capture of a function for a target, compiled under the reader's flags.

    If the flags request a dump, the program is compiled once more, as JAX does it, to write the dump.

    Args:
        target: The target.
        function: As in `xla_inspect.capture`.
        *example: Likewise.
        **arguments: Likewise.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The compiler refuses an option of the reader's.
    """
    from xla_inspect.compilation import capture_program

    require(target)
    with progress.compiling():
        program = describe_program(function, example, arguments)
        capture = capture_program(program, target, options_for(target))()
        # A capture sends its dump into a folder of its own, so the reader's folder needs a second compilation.
        if flags.dump_folder():
            compile_plainly(program, target, {})
    return capture


def require(target: Target) -> None:
    """Check that this machine can compile for a target.

    Raises:
        TargetUnavailableError: This machine cannot; the message states the reason.
    """
    # The check comes before any tracing, so that the reader does not wait for an error.
    if reason := target.obstacle:
        raise TargetUnavailableError(target.name, reason)


def options_for(target: Target) -> dict[str, str | int | bool]:
    """Return XLA options for a capture: those of a local GPU, and the reader's values of options that it would pin."""
    pinned, requested = pin_options(target), flags.given()
    options = dict(device.OPTIONS) if isinstance(target, device.Device) else {}
    for name in pinned:
        if name in requested:
            # The reader's value extends a pinned list instead of replacing it.
            both = name in LISTS and pinned[name] != requested[name]
            options[name] = f"{pinned[name]},{requested[name]}" if both else requested[name]
    return options


def compile_plainly(program: Program, target: Target, options: Mapping[str, str | int | bool]) -> None:
    """Compile a program as JAX does, with additional options, only to let the compiler write its dump files."""
    from xla_inspect.compilation import adapt_options, held_settings, lower, stand_ins

    with held_settings(program.project):
        lowered = lower(program, target)
        with stand_ins(target, lowered.stablehlo):
            lowered.place(target).compile(adapt_options(target, lowered.stablehlo, options) or None)


def dump(target: Target, folder: Path, function: Callable[..., Any], *example: Any) -> None:  # noqa: ANN401 - as `capture`
    """Compile a function for a target, and let the compiler write its complete dump into a folder.

    Args:
        target: The target.
        folder: An existing folder.
        function: As in `xla_inspect.capture`.
        *example: Likewise.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
    """
    from xla_inspect.compilation import adapt_options, compile_with_dumps, held_settings, lower, stand_ins

    require(target)
    program = describe_program(function, example, {})
    with (
        progress.doing(f"compiling {program.name} for {target.name}, with dumps"),
        held_settings(program.project),
    ):
        lowered = lower(program, target)
        options = adapt_options(target, lowered.stablehlo, {**pin_options(target), **options_for(target)})
        with stand_ins(target, lowered.stablehlo):
            compile_with_dumps(lowered.place(target), target, options, folder)
