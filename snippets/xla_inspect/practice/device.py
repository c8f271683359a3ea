"""The targets of the practice: those of `xla_inspect`, and the GPU of this machine where there is one."""

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
"""What `--target` takes, a topology apart."""

OPTIONS: Mapping[str, str | int | bool] = {
    # XLA's own default, which captures without a device switch off.
    "xla_gpu_autotune_level": 4,
    # Kernels inside a CUDA graph do not say which instruction they belong to.
    "xla_gpu_enable_command_buffer": "",
}
"""How a program is compiled for the GPU of this machine."""

_HOW = (
    "set JAX_PLATFORMS=cuda,cpu before Python starts and add JAX's CUDA libraries, "
    "as `python -m xla_inspect.main --help` says; --target h100 needs no GPU"
)


class Device(Target):
    """The GPU of this machine, which compiles with autotuning, as programs that run on it are compiled."""

    @property
    def obstacle(self) -> str:
        """Why there is none to compile for, or an empty string; JAX is not started to find out."""
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
            cause = str(error).strip().split("\n")[0]
            raise TargetUnavailableError(self.name, f"JAX finds none ({cause}); {_HOW}") from error


def find_device(name: str) -> Target:
    """Return the target of a short name, `gpu` among them.

    Raises:
        InspectError: There is no such target; the message lists those that there are.
    """
    if name != NAME:
        return targets.find_target(name)
    entry = targets.find_entry(NAME)
    return Device(NAME, entry.kind, entry.device, entry.topology)
