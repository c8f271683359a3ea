"""Answers to what JAX asks about NVIDIA's libraries and GPUs while it lowers a program, if there are none."""

from __future__ import annotations

import operator
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSIONS = {"cudnn_get_version": 91200, "cusolver_get_version": 12003}
"""The oldest versions that the plugin of JAX 0.12 accepts, by the name of JAX's function that asks for them.

The numbers are in the libraries' own form; the versions are in the metadata of jax-cuda13-plugin (`Requires-Dist`).
"""

CAPABILITY = (9, 0)
"""The compute capability of the GPU that is assumed, an H100, because a program is traced once for all targets."""

_CHECKS = {"check_compute_capability": operator.ge, "is_cuda_compute_capability_equal": operator.eq}


@contextmanager
def assume_libraries() -> Iterator[None]:
    """Let programs that call cuDNN's attention or cuSOLVER be lowered in the `with` block where these are missing.

    Before JAX writes such a call, it asks for their versions and for the GPU's compute capability. A library or a GPU
    that is there answers itself.
    """
    from jax._src.lib import cuda_versions

    attention = sys.modules.get("jax._src.cudnn.fused_attention_stablehlo")
    with ExitStack() as changes:
        for name, version in VERSIONS.items() if cuda_versions else ():
            answer = _answer_missing(getattr(cuda_versions, name), version)
            changes.enter_context(patch.object(cuda_versions, name, answer))
        for name, compare in _CHECKS.items() if attention else ():
            check = _compare_assumed(attention, getattr(attention, name), compare)
            changes.enter_context(patch.object(attention, name, check))
        yield


def _answer_missing(ask: Callable[[], int], version: int) -> Callable[[], int]:
    def answer() -> int:
        try:
            return ask()
        except RuntimeError:
            return version

    return answer


def _compare_assumed(attention: Any, ask: Callable[[str], bool], compare: Callable[..., bool]) -> Callable[[str], bool]:  # noqa: ANN401 - a module of JAX
    def check(capability: str) -> bool:
        if "cuda" in attention.xla_bridge.get_backend().platform_version:
            return ask(capability)
        return compare(CAPABILITY, tuple(map(int, capability.split("."))))

    return check
