"""The targets of the practice: those of `xla_inspect`, and the GPU of this machine if it has one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from xla_inspect import targets
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.targets import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jax

NAME = "gpu"
NAMES = (*targets.TARGETS, NAME)
"""The names that `--target` accepts, without topologies."""

OPTIONS: Mapping[str, str | int | bool] = {
    # This is XLA's default; captures without a device disable autotuning.
    "xla_gpu_autotune_level": 4,
    # A profile does not attribute kernels inside a CUDA graph to instructions.
    "xla_gpu_enable_command_buffer": "",
}
"""The compiler options for the GPU of this machine."""

_HOW = (
    "set JAX_PLATFORMS=cuda,cpu before Python starts and add JAX's CUDA libraries, "
    "as `python -m xla_inspect.main --help` says; --target h100 needs no GPU"
)


class Device(Target):
    """The GPU of this machine as a target; compilation includes autotuning, as for programs that run on it."""

    @property
    def obstacle(self) -> str:
        """The reason why JAX is not told to use a GPU, judged by `JAX_PLATFORMS` alone, or an empty string."""
        # Asking JAX for its devices would start its backends, so only the environment is read here.
        if not {"cuda", "gpu"} & set(os.environ.get("JAX_PLATFORMS", "").split(",")):
            return f"JAX is not told to use a GPU; {_HOW}"
        return ""

    def devices(self) -> Sequence[jax.Device]:
        """Return the GPUs that JAX finds.

        Raises:
            TargetUnavailableError: JAX finds none.
        """
        if reason := self.obstacle:
            raise TargetUnavailableError(self.name, reason)
        import jax

        try:
            return jax.devices("cuda")
        except RuntimeError as error:
            # JAX's message goes on with advice about its installation, which the remedy below replaces.
            cause = str(error).strip().split("\n")[0]
            raise TargetUnavailableError(self.name, f"JAX finds none ({cause}); {_HOW}") from error


def find_device(name: str) -> Target:
    """Return the target with a short name, which may be `gpu`.

    Raises:
        InspectError: There is no such target; the message lists the targets.
    """
    if name != NAME:
        return targets.find_target(name)
    entry = targets.find_entry(NAME)
    return Device(NAME, entry.kind, entry.platform, entry.device, entry.topology)
