"""Changes to a program while it is traced, without editing its code: scans, barriers, constraints, precision."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from xla_inspect.errors import InspectError
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
def checkpoint_scans(policy: str = "nothing_saveable") -> Iterator[None]:
    """Make each scan that is traced in the `with` block recompute its body in the backward pass.

    Args:
        policy: As in `find_policy`.
    """
    import jax

    scan = jax.lax.scan

    @wraps(scan)
    def checkpointed(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return scan(jax.checkpoint(f, policy=find_policy(policy)), *args, **kwargs)

    with patch.object(jax.lax, "scan", checkpointed):
        yield


@contextmanager
def set_policy(policy: str) -> Iterator[None]:
    """Give each `jax.checkpoint` that is traced in the `with` block another policy.

    Args:
        policy: As in `find_policy`.
    """
    from jax.extend.core.primitives import remat_p

    primitive: Any = remat_p
    bind = primitive.bind

    def bind_with_policy(*operands: Any, **parameters: Any) -> Any:
        return bind(*operands, **{**parameters, "policy": find_policy(policy)})

    with _traced_anew(), patch.object(primitive, "bind", bind_with_policy):
        yield


def find_policy(name: str) -> Any:
    """Return a policy of `jax.checkpoint_policies`; `offload_...` moves the values to the memory of the host."""
    import jax

    policy = getattr(jax.checkpoint_policies, name)
    return policy("device", "pinned_host") if name.startswith("offload") else policy


@contextmanager
def accumulate(parts: int) -> Iterator[None]:
    """Make the outermost `jax.grad` and `jax.value_and_grad` of the `with` block average over parts of the batch.

    The parts run one after the other, in a scan. The batch is the common leading dimension of the arguments that are
    not differentiated, and the loss has to be a mean over it.

    Raises:
        InspectError: The arguments have no such dimension that the number divides, or nothing is differentiated.
    """
    import jax

    scan, both = jax.lax.scan, jax.value_and_grad
    calls: list[bool] = []

    def differentiate(fun: Callable[..., Any], argnums: Any = 0, has_aux: Any = False, **options: Any) -> Any:  # noqa: FBT002 - as in JAX
        whole = both(fun, argnums, has_aux, **options)

        def average(*args: Any, **kwargs: Any) -> Any:
            # The gradients inside a loss are those of one part already.
            if any(calls):
                return whole(*args, **kwargs)
            chosen = {argnums} if isinstance(argnums, int) else {*argnums}

            def compute(*rest: Any) -> Any:
                others = iter(rest)
                return whole(*(value if at in chosen else next(others) for at, value in enumerate(args)), **kwargs)

            rest = tuple(value for at, value in enumerate(args) if at not in chosen)
            compute_part, batch = hold_rest(compute, rest, is_array=lambda leaf: getattr(leaf, "ndim", 0) > 0)
            split = _split(batch, parts)
            calls.append(True)
            try:
                shapes = jax.eval_shape(compute_part, *jax.tree.map(lambda leaf: leaf[0], split))
                zeros = jax.tree.map(lambda leaf: jax.numpy.zeros(leaf.shape, leaf.dtype), shapes)
                sums, _ = scan(
                    lambda total, part: (jax.tree.map(jax.numpy.add, total, compute_part(*part)), None), zeros, split
                )
            finally:
                calls[-1] = False
            return jax.tree.map(lambda leaf: (leaf / parts).astype(leaf.dtype), sums)

        return wraps(fun)(average)

    # `jax.grad` calls `value_and_grad` too.
    with _traced_anew(), replaced(both, differentiate):
        yield
        if not calls:
            message = "the program calls neither jax.grad nor jax.value_and_grad"
            raise InspectError(message)


def _split(batch: Any, parts: int) -> Any:
    """Return the arrays of a batch divided along a new first dimension."""
    import jax

    sizes = {leaf.shape[0] for leaf in jax.tree.leaves(batch)}
    if len(sizes) != 1 or min(sizes) % parts:
        message = f"the arguments that are not differentiated have no common batch size that is divisible by {parts}"
        raise InspectError(message)
    # Each device keeps a share of every part if the parts take turns along the sharded dimension.
    return jax.tree.map(lambda leaf: jax.numpy.swapaxes(leaf.reshape(-1, parts, *leaf.shape[1:]), 0, 1), batch)


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
