"""Calls of jitted functions, watched where JAX traces, lowers and compiles for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xla_inspect.jax_private.programs import hide_frames_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

JITS = "jax._src.pjit"
"""The module of `jax.jit`, whose functions `watch_jit` watches."""


@contextmanager
def watch_jit(
    around_trace: Callable[..., Any], around_run: Callable[..., Any], before_step: Callable[[str], None]
) -> Iterator[None]:
    """Let every call of a jitted function that JAX's quick path does not know go through two functions.

    Args:
        around_trace: Called with JAX's own function, the function that was jitted, JAX's record of how, and the
            positional and keyword arguments; returns what JAX's function returns of the rest. It traces where JAX
            has not traced the like.
        around_run: Called with JAX's own function, the function that was jitted, its positional and its keyword
            arguments, and what calls JAX's function. It lowers and compiles where JAX has not.
        before_step: Called before each lowering and each compile with the name and the definition of the function, as
            `name_source` returns them. That tells the backward passes of functions of one name apart.
    """
    from jax._src import pjit

    trace, run = pjit._infer_params, pjit._run_python_pjit  # noqa: SLF001 - nothing public is called at each miss
    lower = pjit._resolve_and_lower  # noqa: SLF001 - likewise

    def infer_params(fun: Any, info: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - whatever JAX passes
        return around_trace(lambda: trace(fun, info, args, kwargs), fun, info, args, kwargs)

    def run_python_pjit(found: Any, flat: Any, fun: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - likewise
        return around_run(lambda: run(found, flat, fun, args, kwargs), fun, args, kwargs)

    def resolve_and_lower(args: Any, jaxpr: Any, **options: Any) -> Any:  # noqa: ANN401 - likewise
        source = name_source(jaxpr)
        before_step(source)
        lowered = lower(args, jaxpr=jaxpr, **options)
        compile_lowered = lowered.compile

        def compile_it(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - likewise
            before_step(source)
            return compile_lowered(*given, **named)

        lowered.compile = compile_it  # type: ignore[method-assign]  # of this one alone
        return lowered

    pjit._infer_params, pjit._run_python_pjit = infer_params, run_python_pjit  # type: ignore[assignment]  # noqa: SLF001
    pjit._resolve_and_lower = resolve_and_lower  # type: ignore[assignment]  # noqa: SLF001
    hide_frames_of(__file__)
    try:
        yield
    finally:
        pjit._infer_params, pjit._run_python_pjit = trace, run  # noqa: SLF001
        pjit._resolve_and_lower = lower  # noqa: SLF001


def name_source(jaxpr: Any) -> str:  # noqa: ANN401 - its class changed between releases
    """Return the name and the definition of the function that a jaxpr was traced from, as JAX notes them."""
    return str(getattr(jaxpr, "jaxpr", jaxpr).debug_info.func_src_info)


def is_outside() -> bool:
    """Return whether this thread traces nothing, so that a call of a jitted function is one to compile and run."""
    from jax._src import core

    return bool(core.trace_state_clean())


def jit_again(fun: Callable[..., Any], info: Any) -> Any:  # noqa: ANN401 - JAX's record, and what it makes of it
    """Return a function jitted as JAX's record says that it was."""
    from jax._src import pjit

    return pjit._cpp_pjit(fun, info)  # noqa: SLF001 - the public way wants the options as the reader wrote them


@contextmanager
def traced_before(inferred: Any, leaves: Sequence[Any]) -> Iterator[None]:  # noqa: ANN401 - what JAX's tracing returned
    """Let whatever is traced now be what was traced before.

    Args:
        inferred: What JAX's function returned to `watch_jit` at that time.
        leaves: The flat arguments, or their shapes.
    """
    from jax._src import pjit

    trace = pjit._infer_params  # noqa: SLF001 - what `Traced` is made from
    pjit._infer_params = lambda *_: (inferred[0], list(leaves))  # noqa: SLF001
    try:
        yield
    finally:
        pjit._infer_params = trace  # noqa: SLF001
