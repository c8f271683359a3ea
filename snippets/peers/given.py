"""What every compiler is given: four programs, the numbers to run them on, and what must come out.

The programs are those of `snippets/programs` with the same names. The results are computed here by NumPy in float64,
from float32 inputs; JAX's own results meet the same bound, so no compiler is further from JAX than twice that.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

EPSILON = 1e-5
"""What a layer norm adds to the variance."""

BOUND = 1e-5
"""The largest difference to the results in float64 that passes; all results are of the order of 1."""

ROWS = (1, 7, 64)
"""With how many rows a layer for any number of them is run."""

SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "layer": {"x": (64, 128), "w": (128, 256), "b": (256,)},
    "gelu": {"x": (4, 8)},
    "classify": {"x": (64, 128), "w": (128, 256)},
    "mlp_block": {
        "x": (64, 128),
        "scale": (128,),
        "shift": (128,),
        "w1": (128, 512),
        "b1": (512,),
        "w2": (512, 128),
        "b2": (128,),
    },
}
"""Program to parameter to shape, all float32, in the order in which the program takes them."""

TITLES = {
    "layer": "relu(x @ w + b)",
    "gelu": "gelu(x)",
    "classify": "softmax(x @ w)",
    "mlp_block": "x + mlp(layernorm(x))",
}
"""Program to what it computes, for a reader."""


class WrongResultError(Exception):
    """A compiled program whose results are not those of the reference."""


def inputs(program: str) -> dict[str, NDArray[np.float32]]:
    """Return the arguments of a program, by name: always the same random numbers.

    Matrices are scaled by the root of what they sum over, so that all results are of the order of 1.
    """
    random = np.random.default_rng(0)
    found = {}
    for name, shape in SHAPES[program].items():
        scale = shape[0] ** -0.5 if name.startswith("w") else 1.0
        found[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return found


def digest() -> str:
    """Return what names the numbers of all programs: two machines with the same digest compute on the same."""
    found = hashlib.sha256()
    for program in SHAPES:
        for array in inputs(program).values():
            found.update(array.tobytes())
    return found.hexdigest()[:16]


def layer(x: NDArray[Any], w: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return relu(x @ w + b)."""
    return np.asarray(np.maximum(x @ w + b, 0))


def gelu(x: NDArray[Any]) -> NDArray[Any]:
    """Return x / 2 * (1 + erf(x / sqrt 2))."""
    erf = np.vectorize(math.erf)
    return np.asarray(x * 0.5 * (1 + erf(x / math.sqrt(2))))


def classify(x: NDArray[Any], w: NDArray[Any]) -> NDArray[Any]:
    """Return softmax(x @ w) along the last axis."""
    product = x @ w
    raised = np.exp(product - product.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def mlp_block(x: NDArray[Any], scale: NDArray[Any], shift: NDArray[Any], *weights: NDArray[Any]) -> NDArray[Any]:
    """Return x plus two dense layers, with a gelu between them, of x's layer norm."""
    w1, b1, w2, b2 = weights
    normal = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
    return np.asarray(x + gelu((normal * scale + shift) @ w1 + b1) @ w2 + b2)


_REFERENCES: dict[str, Callable[..., NDArray[Any]]] = {
    "layer": layer,
    "gelu": gelu,
    "classify": classify,
    "mlp_block": mlp_block,
}


def results(program: str) -> NDArray[np.float64]:
    """Return what a program must give for its inputs, computed in float64."""
    wide = [array.astype(np.float64) for array in inputs(program).values()]
    return np.asarray(_REFERENCES[program](*wide), np.float64)


def check(program: str, found: object) -> float:
    """Compare what a compiled program gave for its inputs with the reference.

    Returns:
        The bound that the largest difference keeps: `BOUND`.

    Raises:
        WrongResultError: The shape is another, or a number is further off.
    """
    array, wanted = np.asarray(found), results(program)
    if array.shape != wanted.shape:
        message = f"{program}: the result has shape {array.shape}, where {wanted.shape} is right"
        raise WrongResultError(message)
    worst = float(np.abs(array - wanted).max())
    if not worst < BOUND:
        message = f"{program}: the result is off by up to {worst:.1e}, which is more than {BOUND:.0e}"
        raise WrongResultError(message)
    return BOUND


def check_rows(run: Callable[..., Any]) -> tuple[int, ...]:
    """Run the layer that was compiled once for any number of rows, and return with how many it ran.

    Raises:
        WrongResultError: A result is not that of the reference.
    """
    x, *weights = inputs("layer").values()
    wanted = results("layer")
    for rows in ROWS:
        off = float(abs(run(x[:rows], *weights) - wanted[:rows]).max())
        if off >= BOUND:
            message = f"layer_any_rows: off by {off:.1e} with {rows} rows"
            raise WrongResultError(message)
    return ROWS
