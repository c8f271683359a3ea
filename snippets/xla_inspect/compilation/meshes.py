"""Meshes of a target's devices, which shard the examples and replace the devices in the program's own shardings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
from jax.experimental import mesh_utils

from xla_inspect import jax_private
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.targets import Target


def make_mesh(axes: Mapping[str, int], target: Target) -> jax.sharding.Mesh:
    """Return the target's devices as a mesh, in the order that JAX chooses for their topology.

    The axes have the type `Auto`: the compiler propagates shardings, not JAX's tracer.

    Args:
        axes: Axis names and sizes, outermost first.
        target: A target with as many devices as the product of the sizes.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The product of the sizes is not the target's number of devices.
    """
    devices, size = target.devices(), math.prod(axes.values())
    if len(devices) != size:
        sizes = " x ".join(map(str, axes.values()))
        message = f"a mesh of {sizes} takes {size} devices, and target {target.name!r} has {len(devices)}"
        raise InspectError(message)
    auto = (jax.sharding.AxisType.Auto,) * len(axes)
    try:
        return jax.make_mesh(tuple(axes.values()), tuple(axes), auto, devices=devices)
    except NotImplementedError:
        # A mesh axis may be a part of a physical axis, such as 4 of the 8 devices in one row of an 8x8x8 grid.
        grid = mesh_utils.create_device_mesh(tuple(axes.values()), devices, allow_split_physical_axes=True)
        return jax.sharding.Mesh(grid, tuple(axes), axis_types=auto)


def find_devices(lowered: jax.stages.Lowered, target: Target) -> Sequence[jax.Device]:
    """Return the target's devices that replace the devices in a program's shardings, in the program's order.

    A mesh in the program keeps its axes and sizes. Its devices get the order that `jax.make_mesh` chooses for the
    target, whatever the order of the original devices. A program without shardings gets only the first device.

    Raises:
        InspectError: The program uses another number of devices than the target has.
    """
    devices = target.devices()
    count, mesh = jax_private.find_layout(lowered)
    if count == 1:
        # A program without shardings runs on one device, however many the target has.
        return devices[:1]
    if count != len(devices):
        other = f"{target.base} with a grid of {count}" if target.kind == "tpu" else f"'{target.base}:{count}'"
        message = (
            f"the shardings spread the program over {count} devices, and target {target.name!r} has {len(devices)}; "
            f"take {other} for the target, or make a mesh of {len(devices)}"
        )
        raise InspectError(message)
    ordered = make_mesh(dict(mesh.shape), target).devices.flat if mesh else devices
    return tuple(ordered)


def shard(args: Any, specs: tuple[Any, ...] | None, mesh: jax.sharding.Mesh) -> Any:  # noqa: ANN401 - any pytree
    """Return the examples' shapes and dtypes, each with its sharding on a mesh.

    Args:
        args: The examples.
        specs: For each example a `PartitionSpec` or a pytree of them that is a prefix of the example's structure;
            None for examples that already carry shardings on a mesh with the same axes.
        mesh: The mesh.

    Raises:
        InspectError: The specs do not fit the examples, or an example is sharded over a mesh with other axes.
    """

    def move(leaf: Any) -> Any:  # noqa: ANN401 - a leaf is whatever the reader passed
        sharding = getattr(leaf, "sharding", None)
        if not isinstance(sharding, jax.sharding.NamedSharding):
            return leaf
        # Only the axes must agree, because the target's devices replace those of the example.
        if sharding.mesh.shape != mesh.shape:
            message = f"an example lies on a mesh of {dict(sharding.mesh.shape)}, and mesh is {dict(mesh.shape)}"
            raise InspectError(message)
        return leaf.update(sharding=jax.sharding.NamedSharding(mesh, sharding.spec))

    if specs is None:
        return jax.tree.map(move, args)

    def place(spec: jax.sharding.PartitionSpec, arrays: Any) -> Any:  # noqa: ANN401 - any pytree
        sharding = jax.sharding.NamedSharding(mesh, spec)
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), arrays)

    try:
        # The specs come first, because `jax.tree.map` lets only the first tree be a prefix of the others.
        return jax.tree.map(place, tuple(specs), args)
    except (AttributeError, TypeError, ValueError) as error:
        message = f"specs holds a PartitionSpec, or a pytree of them, for each positional example: {error}"
        raise InspectError(message) from error
