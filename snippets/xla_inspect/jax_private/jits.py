"""Hooks into JAX's tracing, lowering and compilation for calls of jitted functions."""

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
    """Route calls of jitted functions that miss JAX's fast path through two functions within the `with` block.

    Args:
        around_trace: Called with a function without arguments in which JAX traces, unless a matching trace is cached;
            the jitted function; JAX's record of the `jit` options; and the positional and keyword arguments. It must
            return the result of the first function.
        around_run: Called with a function without arguments in which JAX runs the program, and first lowers and
            compiles it unless that is cached; the jitted function; and its positional and keyword arguments. It must
            return the result of the first function.
        before_step: Called before each lowering and each compile with the name and the definition of the function, as
            `name_source` returns them. These distinguish the backward passes of functions with the same name.
    """
    from jax._src import pjit

    trace, run = pjit._infer_params, pjit._run_python_pjit  # noqa: SLF001 - nothing public is called at each miss
    lower = pjit._resolve_and_lower  # noqa: SLF001 - likewise

    def infer_params(fun: Any, info: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - whatever JAX passes
        return around_trace(lambda: trace(fun, info, args, kwargs), fun, info, args, kwargs)

    def run_python_pjit(parameters: Any, flat: Any, fun: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - likewise
        return around_run(lambda: run(parameters, flat, fun, args, kwargs), fun, args, kwargs)

    def resolve_and_lower(args: Any, jaxpr: Any, **options: Any) -> Any:  # noqa: ANN401 - likewise
        source = name_source(jaxpr)
        before_step(source)
        lowered = lower(args, jaxpr=jaxpr, **options)
        compile_lowered = lowered.compile

        def compile_it(*values: Any, **keywords: Any) -> Any:  # noqa: ANN401 - likewise
            before_step(source)
            return compile_lowered(*values, **keywords)

        lowered.compile = compile_it  # type: ignore[method-assign]  # of this one alone
        return lowered

    pjit._infer_params, pjit._run_python_pjit = infer_params, run_python_pjit  # type: ignore[assignment]  # noqa: SLF001
    pjit._resolve_and_lower = resolve_and_lower  # type: ignore[assignment]  # noqa: SLF001
    # JAX would otherwise report these wrappers as sources of the user's operations.
    hide_frames_of(__file__)
    try:
        yield
    finally:
        pjit._infer_params, pjit._run_python_pjit = trace, run  # noqa: SLF001
        pjit._resolve_and_lower = lower  # noqa: SLF001


def name_source(jaxpr: Any) -> str:  # noqa: ANN401 - its class changed between releases
    """Return the name and the definition of the function that a jaxpr was traced from, as JAX records them."""
    return str(getattr(jaxpr, "jaxpr", jaxpr).debug_info.func_src_info)


def is_outside() -> bool:
    """Return whether this thread is not tracing, so that a call of a jitted function compiles and runs."""
    from jax._src import core

    return bool(core.trace_state_clean())


def jit_again(fun: Callable[..., Any], info: Any) -> Any:  # noqa: ANN401 - JAX's record, and what it makes of it
    """Return a function jitted with the options in JAX's record."""
    from jax._src import pjit

    return pjit._cpp_pjit(fun, info)  # noqa: SLF001 - the public way wants the options as the reader wrote them


@contextmanager
def traced_before(inferred: Any, leaves: Sequence[Any]) -> Iterator[None]:  # noqa: ANN401 - what JAX's tracing returned
    """Make JAX's tracing within the `with` block return the result of an earlier trace instead of tracing.

    Args:
        inferred: The value that JAX's function returned to `watch_jit` for the earlier trace.
        leaves: The flat arguments, or their shapes.
    """
    from jax._src import pjit

    trace = pjit._infer_params  # noqa: SLF001 - what `Traced` is made from
    pjit._infer_params = lambda *_: (inferred[0], list(leaves))  # noqa: SLF001
    try:
        yield
    finally:
        pjit._infer_params = trace  # noqa: SLF001
