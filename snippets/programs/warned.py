"""The log of each compiler if it has to reshard a matrix from rows to columns."""

import jax
from jax.sharding import AxisType, NamedSharding

from programs import reshard
from xla_inspect import TargetUnavailableError, targets
from xla_inspect.compilation import collect_log


def warned() -> dict[str, list[str]]:
    """Return each available target's log lines about rematerialization, without date and thread."""
    said = {}
    for target in ("cpu:8", "h100:8", "tpu-v5e:2x4"):
        try:
            devices = targets.find_target(target).devices()
        except TargetUnavailableError:
            continue
        mesh = jax.make_mesh(tuple(reshard.MESH.values()), tuple(reshard.MESH), (AxisType.Auto,) * 2, devices=devices)
        rows = NamedSharding(mesh, reshard.ROWS)
        (example,) = (jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=rows) for leaf in reshard.EXAMPLE)
        with collect_log() as lines, jax.set_mesh(mesh):
            # A new function each time: one that was compiled would say nothing.
            jax.jit(lambda x: reshard.directly(x)).lower(example).compile()  # noqa: PLW0108 - a new one
        said[target] = [line.partition("] ")[2] for line in lines if "rematerialization" in line]
    return said


if __name__ == "__main__":
    print(warned())
