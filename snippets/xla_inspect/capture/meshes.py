"""Lay a target's devices out as a mesh, and shard examples over it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.capture.targets import Target


def make_mesh(axes: Mapping[str, int], target: Target) -> jax.sharding.Mesh:
    """Return the target's devices as a mesh, in the order that `jax.make_mesh` chooses.

    Its axes are of the type `Auto`: the compiler propagates shardings, and JAX's tracer does not.

    Args:
        axes: Axis names to sizes, the outermost first.
        target: A target with as many devices as the sizes multiply to.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The sizes multiply to another number of devices than the target has.
    """
    devices, wanted = target.devices(), math.prod(axes.values())
    if len(devices) != wanted:
        sizes = " x ".join(map(str, axes.values()))
        message = f"a mesh of {sizes} takes {wanted} devices, and target {target.name!r} has {len(devices)}"
        raise InspectError(message)
    auto = (jax.sharding.AxisType.Auto,) * len(axes)
    return jax.make_mesh(tuple(axes.values()), tuple(axes), auto, devices=devices)


def shard(args: tuple[Any, ...], specs: tuple[Any, ...] | None, mesh: jax.sharding.Mesh) -> tuple[Any, ...]:
    """Return examples that say how each of their arrays lies on a mesh.

    Args:
        args: The positional examples.
        specs: For each a `PartitionSpec` or a pytree of them, down to which the example's structure is the same;
            None for examples that say it themselves.
        mesh: The mesh.

    Raises:
        InspectError: The specs do not fit the examples.
    """
    if specs is None:
        return args

    def place(spec: jax.sharding.PartitionSpec, arrays: Any) -> Any:  # noqa: ANN401 - any pytree
        sharding = jax.sharding.NamedSharding(mesh, spec)
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), arrays)

    try:
        placed: tuple[Any, ...] = jax.tree.map(place, tuple(specs), args)
    except (AttributeError, TypeError, ValueError) as error:
        message = f"specs holds a PartitionSpec, or a pytree of them, for each positional example: {error}"
        raise InspectError(message) from error
    return placed
