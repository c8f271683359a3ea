"""Files of arrays of any of JAX's types, which NumPy's own format does not have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def write_arrays(path: Path, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Write arrays to a file: a line of JSON with their types and shapes, then their bytes."""
    with path.open("wb") as file:
        file.write(json.dumps([[array.dtype.name, array.shape] for array in arrays]).encode() + b"\n")
        for array in arrays:
            file.write(np.ascontiguousarray(array).tobytes())


def read_arrays(path: Path) -> list[np.ndarray[Any, Any]]:
    """Read the arrays that `write_arrays` wrote."""
    import ml_dtypes  # noqa: F401 - NumPy then knows the names of its types

    arrays = []
    with path.open("rb") as file:
        for name, shape in json.loads(file.readline()):
            dtype = np.dtype(name)
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            arrays.append(np.frombuffer(file.read(size), dtype).reshape(shape))
    return arrays
