"""Execution of HLO modules on this machine's CPU, with a choice of XLA's passes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


def compile_hlo(module_text: str, passes: Sequence[str], devices: int) -> Any:  # noqa: ANN401 - it has no public name
    """Return an executable of an HLO module for this machine's CPU.

    Args:
        module_text: The module.
        passes: The names of the only passes of XLA that may change the module.
        devices: The number of devices; each runs the module with its own arguments.

    Raises:
        RuntimeError: XLA rejects the module.
        ValueError: The module has an operation that MLIR cannot express.
    """
    import numpy as np
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]  # _hlo has no stub

    computation = _hlo.XlaComputation(_hlo.hlo_module_from_text(module_text).as_serialized_hlo_module_proto())
    options = _jax.CompileOptions()
    # An empty list would enable all passes.
    options.env_option_overrides = [("xla_enable_hlo_passes_only", ",".join(passes) or "none")]
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = 1, devices
    build.use_spmd_partitioning = devices > 1
    build.debug_options.xla_backend_optimization_level = 1
    places = _find_devices()[:devices]
    build.device_assignment = _jax.DeviceAssignment.create(np.array([[place.id for place in places]]))
    module = _jax.mlir.xla_computation_to_mlir_module(computation)
    return places[0].client.compile_and_load(module, _jax.DeviceList(places), options)


@cache
def _find_devices() -> tuple[Any, ...]:
    import jax
    from jaxlib import lapack

    # Custom calls of LAPACK crash before JAX has loaded its functions, which it does when it lowers one.
    lapack._lapack.initialize()  # type: ignore[attr-defined]  # noqa: SLF001
    return tuple(jax.devices("cpu"))


def run_executable(
    executable: Any,  # noqa: ANN401 - it has no public name
    arguments: Sequence[Sequence[np.ndarray[Any, Any]]],
) -> list[list[np.ndarray[Any, Any]]]:
    """Run an executable of `compile_hlo`, and return the arrays of each result by device.

    Args:
        executable: The executable.
        arguments: The arrays of each argument by device.
    """
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    places = _find_devices()[: len(executable.local_devices())]
    # The devices' arrays may differ although the sharding says replicated: the executable only sees its own.
    sharding = NamedSharding(jax.make_mesh((len(places),), ("x",), devices=places), PartitionSpec())
    arrays = [
        jax.make_array_from_single_device_arrays(
            shards[0].shape,
            sharding,
            [jax.device_put(shard, place) for shard, place in zip(shards, places, strict=True)],
        )
        for shards in arguments
    ]
    results = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return [[np.asarray(shard) for shard in shards] for shards in results]
