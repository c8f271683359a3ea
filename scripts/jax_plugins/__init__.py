"""The namespace of JAX's plugins, with code that prevents JAX from starting compilers for absent GPUs and TPUs.

This project's environment contains these compilers, so a script with one jitted call would print their errors. Python
prefers this package to a namespace of the same name, so importing JAX, which imports the namespace, runs this code. The
wheel does not contain this package.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from pathlib import Path

import quiet_rocm_plugin  # noqa: F401 - the wheel does this whenever Python starts

# The plugins themselves are in other folders of this name on Python's path.
__path__ = pkgutil.extend_path(__path__, __name__)

DEVICES = ("nvidia0", "nvidiactl", "dxg", "kfd", "accel[0-9]*", "vfio/[0-9]*")
"""The files in `/dev` of NVIDIA GPUs (`dxg` in WSL 2), AMD GPUs and TPUs."""

VARIABLES = ("JAX_FORCE_TPU_INIT", "TPU_ACCELERATOR_TYPE", "TPU_NAME", "TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID")
"""Environment variables that indicate a TPU.

Other `TPU_` variables do not, because JAX sets some of them on every machine.
"""


def has_accelerator() -> bool:
    """Return whether this machine has a GPU or a TPU, or the environment describes a TPU."""
    devices = (device for pattern in DEVICES for device in Path("/dev").glob(pattern))
    return any(variable in os.environ for variable in VARIABLES) or any(devices)


# `sys.modules` contains JAX's settings when JAX imports this package. `xla-inspect` also imports it to search for a
# plugin; that must not import JAX, so the settings may be missing.
_settings = sys.modules.get("jax._src.config")
# A user's own choice, such as JAX_PLATFORMS=cuda, takes precedence.
if sys.platform == "linux" and _settings and _settings.config.jax_platforms is None and not has_accelerator():
    _settings.config.update("jax_platforms", "cpu")
