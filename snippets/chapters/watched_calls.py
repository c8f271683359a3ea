"""Observed calls: the errors that they raise, and the number of programs that they compile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jax

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT = f"{Path(__file__).parents[2]}/"


def describe_error(call: Callable[..., object], *arguments: object, qualified: bool = False) -> str:
    """Return the error that a call raises, or an empty string.

    Args:
        call: The function to call.
        *arguments: Its arguments.
        qualified: Whether the error's name includes its module.
    """
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, a page shows it
        kind = type(error)
        name = f"{kind.__module__}.{kind.__name__}" if qualified else kind.__name__
        # Absolute paths in a message would differ between machines.
        return f"{name}: {str(error).replace(_ROOT, '').strip()}"
    return ""


def count_compiles(call: Callable[[], object]) -> int:
    """Run a call, wait for its result, and return the number of programs that were compiled."""
    compiles: list[bool] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:  # noqa: ARG001 - JAX names it
        # JAX reports many durations, but only that of the backend's compilation means that a program was compiled.
        compiles.append(event.endswith("backend_compile_duration"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        jax.block_until_ready(call())
    finally:
        # Listeners are global, so this one must not outlive the call.
        jax.monitoring.unregister_event_duration_listener(listen)
    return sum(compiles)
