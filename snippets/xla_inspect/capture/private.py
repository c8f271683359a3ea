"""The private names of JAX and jaxlib that this package needs where nothing public serves, and nothing else.

A test says which releases of JAX have them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_contexts: list[Any] = []


def backends_started() -> bool:
    """Return whether JAX has started its backends, after which their settings can no longer change."""
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


def set_option(name: str, value: object) -> None:
    """Set one of JAX's process-wide options (`jax.config.update` is public but carries no types)."""
    import jax

    jax.config.update(name, value)


def thread_settings() -> object:
    """Return what the `with` statements of this thread set of JAX's options, to compare with another thread's."""
    from jax._src import config

    return config.trace_context()


@contextmanager
def lent_context() -> Iterator[None]:
    """Let this thread lower in the MLIR context that an earlier one left, and leave it for a later one.

    To make one takes longer than to lower most programs. JAX itself uses each ten times, and keeps it by thread.
    """
    from jax._src.interpreters.mlir import _thread_local_context as context

    # A list's pop and append are whole: no two threads have the same one.
    context.set_local(_contexts.pop() if _contexts else None)
    try:
        yield
    finally:
        if context.value is not None:
            _contexts.append(context.value)
            context.set_local(None)


def hide_frames_of(file: str) -> None:
    """Keep the frames of a Python file out of every location that JAX records from now on."""
    from jax._src import source_info_util

    source_info_util.register_exclusion(file)


def start_profiler() -> Any:  # noqa: ANN401 - the class has no public name to annotate with
    """Start XLA's own profiler in this process, without Python frames; `.stop()` returns a serialized XSpace."""
    from jaxlib import _profiler  # type: ignore[attr-defined]  # it has no stub

    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.raise_error_on_start_failure = True
    return _profiler.ProfilerSession(options)


def count_work(module_text: str) -> dict[str, float]:
    """Return what XLA's HLO cost analysis counts in a module, property to number."""
    import jax
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]  # _hlo has no stub

    module = _hlo.hlo_module_from_text(module_text)
    return dict(_jax.hlo_module_cost_analysis(jax.devices("cpu")[0].client, module))


def parse_hlo(module_text: str) -> str:
    """Return a module as XLA prints it once it has parsed it; RuntimeError with the parser's message if it cannot."""
    from jaxlib import _hlo  # type: ignore[attr-defined]  # it has no stub

    return str(_hlo.hlo_module_from_text(module_text).to_string())


def read_options() -> bytes:
    """Return XLA's options as this process has read them from the environment, serialized; this reads them."""
    from jaxlib import _jax

    return bytes(_jax.CompileOptions().SerializeAsString())
