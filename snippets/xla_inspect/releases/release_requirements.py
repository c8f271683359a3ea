"""The requirements that uv installs for a JAX release and a kind of target, and the obstacles on this machine."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

from xla_inspect.releases.release_index import order

if TYPE_CHECKING:
    from collections.abc import Sequence


def list_requirements(version: str, kind: str = "cpu") -> tuple[str, ...]:
    """Return uv's requirements for a release and a kind of target.

    Older JAX releases do not limit the versions of jaxlib, NumPy and SciPy, so uv would install the newest. Here,
    jaxlib is the newest version that is not newer than JAX, and NumPy and SciPy are from before they removed names.
    The CUDA toolkit's packages have no version that belongs to a JAX release, so the newest that fits is installed.

    Args:
        version: The release of JAX.
        kind: `cpu`, `gpu` or `tpu`.
    """
    of_old = next((limits for before, limits in _LIMITS if order(version) < before), ())
    own = (f"jax=={version}", f"jaxlib<={version}", *of_old)
    if kind == "tpu":
        return (*own, f"jax[tpu]=={version}")
    if kind == "gpu":
        return (*own, *_list_cuda(version))
    return own


_LIMITS: Sequence[tuple[tuple[int, ...], tuple[str, ...]]] = (
    # NumPy 2 is supported from 0.4.26 on (JAX's change log), SciPy 1.13 removed scipy.linalg.tril.
    ((0, 4, 26), ("numpy<2", "scipy<1.13", "ml-dtypes<0.5")),
    ((0, 5), ("numpy<2.3", "scipy<1.16")),
)

_CUDA13 = (0, 7, 2)
"""The first release with plugins for CUDA 13."""


def _list_cuda(version: str) -> tuple[str, ...]:
    if order(version) >= _CUDA13:
        return (f"jax-cuda13-plugin=={version}", "nvidia-cuda-nvcc")
    return (f"jax-cuda12-plugin=={version}", "nvidia-cuda-nvcc-cu12")


def find_obstacle(kind: str) -> str:
    """Return the reason that no release can compile for a kind of target on this machine, or an empty string.

    Args:
        kind: `cpu`, `gpu` or `tpu`, or JAX's name of a platform.
    """
    if kind == "rocm":
        return "releases are compared for CPUs, NVIDIA GPUs and TPUs, and not for AMD GPUs"
    if kind != "cpu" and (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return f"its compiler exists for Linux on x86-64 only, and this is {platform.system()} {platform.machine()}"
    return ""
