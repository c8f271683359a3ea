"""Programs that produce HLO's communication opcodes; each device of a mesh with the axis `i` runs the same one."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.lax.parallel import (
    precv,
    psend,
    psum_start,
)  # the first two deprecated in jax.lax, the last not yet there
from jax.sharding import PartitionSpec as P

if TYPE_CHECKING:
    from collections.abc import Callable

DEVICES = 4
LINE = [(device, device + 1) for device in range(DEVICES - 1)]
RING = [(device, (device + 1) % DEVICES) for device in range(DEVICES)]


def on_each_device(outputs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: ANN401 - any pytree
    """Return a decorator that runs a function on each device of the current mesh, with arguments split over `i`."""

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(body)
        def mapped(*args: jax.Array) -> Any:  # noqa: ANN401 - what the function returns
            return jax.shard_map(body, in_specs=P("i"), out_specs=outputs)(*args)

        return mapped

    return decorate


@on_each_device((P("i"), P(), *(P("i"),) * 4))
def collectives(x: jax.Array) -> tuple[Any, ...]:
    """Return the results of the collectives that all targets have, and x plus the number of the device."""
    return (
        *(lax.all_gather(x, "i", tiled=True), lax.psum(x, "i"), lax.all_to_all(x, "i", 1, 0, tiled=True)),
        *(lax.ppermute(x, "i", RING), lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True)),
        x + lax.axis_index("i"),
    )


@on_each_device(P())
def started(x: jax.Array) -> Any:  # noqa: ANN401 - what JAX calls a future has no public type
    """Return a sum over devices whose start and end are two operations."""
    return psum_start(x, "i").done()


@on_each_device(P("i"))
def sent_to_all(x: jax.Array) -> Any:  # noqa: ANN401 - `lax.pbroadcast` is not annotated
    """Return the part of the first device, which it sends to all."""
    return lax.pbroadcast(x, "i", 0)


@on_each_device(P("i"))
def sent_to_one(x: jax.Array) -> Any:  # noqa: ANN401 - these two are not annotated
    """Return the previous device's part, which it sends by a message (not in a ring, which HLO's verifier rejects)."""
    token = psend(x, "i", LINE)
    return precv(token, jax.ShapeDtypeStruct(x.shape, x.dtype), "i", LINE)


@on_each_device(P("i"))
def sent_in_pieces(x: jax.Array, out: jax.Array, plan: jax.Array) -> Any:  # noqa: ANN401 - likewise
    """Return received pieces of unequal length, which devices exchange as a mixture of experts does with tokens."""
    return lax.ragged_all_to_all(x, out, plan, plan, plan, plan, axis_name="i")


def printed(x: jax.Array) -> jax.Array:
    """Print x from a program that runs on a device, and return it."""
    jax.debug.print("{}", x)
    return x


X, PLAN = jax.ShapeDtypeStruct((8, 128), jnp.float32), jax.ShapeDtypeStruct((16,), jnp.int32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "collectives": (collectives, (X,)),
    "started": (started, (X,)),
    "sent_to_all": (sent_to_all, (X,)),
    "sent_to_one": (sent_to_one, (X,)),
    "sent_in_pieces": (sent_in_pieces, (*(jax.ShapeDtypeStruct((16, 128), jnp.float32),) * 2, PLAN)),
    "printed": (printed, (X,)),
}
ARGUMENTS = {"mesh": {"i": DEVICES}}
# Which targets a program is for, where not for all: JAX has no rule for the others, or they have no code for it.
ONLY: dict[str, tuple[str, ...]] = {
    "started": ("tpu-v5e",),
    "sent_to_all": ("h100",),
    "sent_to_one": ("h100",),
    "sent_in_pieces": ("h100", "tpu-v5e"),
    "printed": ("cpu", "tpu-v5e"),
}

if __name__ == "__main__":
    print(f"{len(PROGRAMS)} programs for {DEVICES} devices: {', '.join(PROGRAMS)}")
