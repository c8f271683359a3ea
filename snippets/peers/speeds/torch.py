"""PyTorch's programs, run eagerly and through `torch.compile`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from peers.torch import layers

if TYPE_CHECKING:
    from collections.abc import Callable

torch.set_num_threads(1)
torch.set_grad_enabled(mode=False)


def build(program: str) -> Callable[[], Any]:
    """Return a function that runs a program eagerly, one operation at a time."""
    run, arguments = layers.PROGRAMS[program], layers.arguments(program)
    return lambda: run(*arguments).numpy()


def compiled(program: str) -> Callable[[], Any]:
    """Return a function that runs a program compiled by Inductor."""
    run, arguments = torch.compile(layers.PROGRAMS[program], dynamic=False), layers.arguments(program)
    return lambda: run(*arguments).numpy()


WAYS = {"PyTorch, eager": build, "torch.compile": compiled}
