"""The two-layer MLP run on eight simulated CPU devices: what each device holds, and that the result is the same."""

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from programs import mlp as model

SPECS = {
    "data": (P("x"), P(), P(), P(), P()),
    "tensor": (P(), P(None, "x"), P("x"), P("x", None), P()),
}


def placed() -> list[tuple[str, str, str, float]]:
    """Return for each sharding of the MLP the sharding of its result, and its difference from that of one device.

    A row has the way's name, the result's sharding, the shape of a device's part, and the largest difference.
    """
    random = np.random.default_rng(0)
    arrays = [random.normal(0, 0.05, leaf.shape).astype(leaf.dtype) for leaf in model.EXAMPLE]
    mesh = jax.make_mesh((8,), ("x",), (AxisType.Auto,), devices=jax.devices("cpu")[:8])
    alone = jax.jit(model.mlp)(*arrays)
    rows = []
    for name, specs in SPECS.items():
        spread = [jax.device_put(array, NamedSharding(mesh, spec)) for array, spec in zip(arrays, specs, strict=True)]
        result = jax.jit(model.mlp)(*spread)
        part = result.addressable_shards[0].data.shape
        rows.append((name, str(result.sharding.spec), str(part), float(np.abs(result - np.asarray(alone)).max())))
    return rows


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 8)
    jax.config.update("jax_platforms", "cpu")
    for row in placed():
        print(*row)
