"""Changes to a program while it is traced, without editing its code: scans, barriers, constraints, precision."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from xla_inspect.subject.nn_models import hold_rest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


@contextmanager
def _traced_anew() -> Iterator[None]:
    """Clear JAX's caches of traced functions before and after the `with` block."""
    import jax

    # A trace that JAX has cached would not contain the change.
    jax.clear_caches()
    try:
        yield
    finally:
        # Later programs must not get a cached trace that contains the change.
        jax.clear_caches()


@contextmanager
def checkpoint_scans() -> Iterator[None]:
    """Make each scan that is traced in the `with` block recompute its body in the backward pass."""
    import jax

    scan = jax.lax.scan

    @wraps(scan)
    def checkpointed(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return scan(jax.checkpoint(f, policy=jax.checkpoint_policies.nothing_saveable), *args, **kwargs)

    with patch.object(jax.lax, "scan", checkpointed):
        yield


@contextmanager
def without_barriers() -> Iterator[None]:
    """Replace each `optimization_barrier` traced in the `with` block, also of `jax.checkpoint`, with its operands."""
    import jax

    def hand_on(*operands: Any, **_: Any) -> list[Any]:
        return list(operands)

    with _traced_anew(), patch.object(jax.lax.optimization_barrier_p, "bind", hand_on):
        yield


@contextmanager
def without_constraints() -> Iterator[None]:
    """Replace each `with_sharding_constraint` that is traced in the `with` block with its operand."""
    import jax

    constrain = jax.lax.with_sharding_constraint

    def hand_on(x: Any, shardings: Any) -> Any:
        del shardings
        return x

    with _traced_anew(), replaced(constrain, hand_on):
        yield


def at_precision(precision: str) -> Callable[[], AbstractContextManager[None]]:
    """Return a function whose context manager sets the default precision of matmuls that are traced in its block.

    It overrides the setting of `jax.config`, but not a precision in an argument or a `with` statement of the program.

    Args:
        precision: As in `jax.default_matmul_precision`.
    """

    @contextmanager
    def apply() -> Iterator[None]:
        import jax

        before = jax.config.jax_default_matmul_precision
        with _traced_anew():
            # A `with` statement's setting is thread-local, so it would not reach the thread that traces.
            jax.config.update("jax_default_matmul_precision", precision)
            try:
                yield
            finally:
                jax.config.update("jax_default_matmul_precision", before)

    return apply


def checkpoint(function: Any) -> Callable[[], AbstractContextManager[None]]:
    """Return a function whose context manager replaces a user function by a checkpointed one in all loaded modules.

    The replacement uses `jax.checkpoint`, so that it recomputes its values in the backward pass.
    """

    @contextmanager
    def apply() -> Iterator[None]:
        import jax

        def again(*args: Any, **kwargs: Any) -> Any:
            # `jax.checkpoint` cannot trace arguments that are not arrays, such as strings.
            call, arrays = hold_rest(
                lambda args, kwargs: function(*args, **kwargs),
                (args, kwargs),
                is_array=lambda leaf: hasattr(leaf, "dtype"),
            )
            return jax.checkpoint(call, policy=jax.checkpoint_policies.nothing_saveable)(*arrays)

        with replaced(function, again):
            yield

    return apply


@contextmanager
def replaced(function: Any, other: Any) -> Iterator[None]:
    """Replace a function during the `with` block in every loaded module that refers to it."""
    with ExitStack() as patches:
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None):
                # The names are listed first, because each patch changes the dictionary.
                for name in [name for name, value in vars(module).items() if value is function]:
                    patches.enter_context(patch.object(module, name, other))
        yield
