"""The four programs in PyTorch, and those that show where TorchDynamo's graphs begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from peers import given

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return relu(x @ w + b)."""
    return functional.relu(x @ w + b)


def gelu(x: Tensor) -> Tensor:
    """Return PyTorch's own exact GELU."""
    return functional.gelu(x)


def classify(x: Tensor, w: Tensor) -> Tensor:
    """Return softmax(x @ w)."""
    return functional.softmax(x @ w, dim=-1)


def mlp_block(x: Tensor, scale: Tensor, shift: Tensor, *weights: Tensor) -> Tensor:
    """Return x plus two dense layers of its layer norm."""
    w1, b1, w2, b2 = weights
    normal = functional.layer_norm(x, x.shape[-1:], scale, shift, given.EPSILON)
    return x + (functional.gelu(normal @ w1 + b1) @ w2 + b2)


def branching(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return a layer, doubled where its sum is positive."""
    y = layer(x, w, b)
    if y.sum() > 0:
        y = y * 2
    return y + 1


def printing(x: Tensor) -> Tensor:
    """Return twice x and one, and speak of it in between."""
    y = x * 2
    print("doubled")
    return y + 1


class Ledger:
    """What a function writes down beside its result."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self.calls: list[int] = []
        self.last = 0


def remembering(x: Tensor, ledger: Ledger) -> Tensor:
    """Return twice x, and keep its number of rows, without looking at what was kept before."""
    ledger.last = x.shape[0]
    return x * 2


def appending(x: Tensor, ledger: Ledger) -> Tensor:
    """Return twice x, and append its number of rows to a list, which is looked at for that."""
    ledger.calls.append(x.shape[0])
    return x * 2


class Dense(torch.nn.Module):  # type: ignore[misc]  # mypy does not see PyTorch's packages
    """The layer as a module, whose weights are its own."""

    def __init__(self) -> None:
        """Take the weights of the layer."""
        super().__init__()
        arrays = given.inputs("layer")
        self.linear = torch.nn.Linear(*arrays["w"].shape)
        self.linear.weight = torch.nn.Parameter(torch.from_numpy(arrays["w"].T.copy()))
        self.linear.bias = torch.nn.Parameter(torch.from_numpy(arrays["b"]))

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(x @ w + b)."""
        return functional.relu(self.linear(x))


PROGRAMS: dict[str, Callable[..., Tensor]] = {
    "layer": layer,
    "gelu": gelu,
    "classify": classify,
    "mlp_block": mlp_block,
}


def arguments(program: str) -> list[Tensor]:
    """Return the inputs of one of the four programs as tensors."""
    return [torch.from_numpy(array) for array in given.inputs(program).values()]
