"""Files keep arrays of each of JAX's types, also scalars and arrays without elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect.evaluation.array_file import read_arrays, write_arrays

if TYPE_CHECKING:
    from pathlib import Path

TYPES = (
    "bool", "int4", "uint4", "int8", "uint16", "int32", "uint64", "bfloat16", "float16", "float32", "float64",
    "float8_e4m3fn", "float8_e5m2", "complex64", "complex128",
)  # fmt: skip


def test_arrays_of_each_type_come_back_unchanged(tmp_path: Path) -> None:
    arrays = [np.array([[0, 1, 2], [3, 4, 5]]).astype(jnp.dtype(name)) for name in TYPES]
    arrays += [np.float32(-0.0), np.zeros((0, 3), np.int32), np.arange(6).reshape(2, 3).T]
    write_arrays(tmp_path / "arrays", arrays)
    copies = read_arrays(tmp_path / "arrays")
    assert [(copy.dtype, copy.shape, copy.tobytes()) for copy in copies] == [
        (array.dtype, array.shape, array.tobytes()) for array in arrays
    ]


@pytest.mark.parametrize("newline", [b"\n", b"\r"])
def test_bytes_that_look_like_the_end_of_a_line_are_kept(newline: bytes, tmp_path: Path) -> None:
    array = np.frombuffer(newline * 8, np.uint8)
    write_arrays(tmp_path / "arrays", [array])
    [copy] = read_arrays(tmp_path / "arrays")
    np.testing.assert_array_equal(copy, array)
