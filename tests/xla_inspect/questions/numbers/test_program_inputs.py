"""The inputs of the runs: arrays of a file or of a call, numbers of Python, and what is refused."""

from __future__ import annotations

import struct
import zipfile
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import InspectError, numbers

if TYPE_CHECKING:
    from pathlib import Path


def test_inputs_come_from_a_file_by_name_or_number_and_an_error_names_the_argument(tmp_path: Path) -> None:
    def scale(x: jax.Array, weights: dict[str, jax.Array]) -> jax.Array:
        return jnp.sqrt(x) * weights["w"]

    example = (jax.ShapeDtypeStruct((3,), jnp.float32), {"w": jax.ShapeDtypeStruct((), jnp.bfloat16)})
    file = tmp_path / "inputs.npz"
    np.savez(file, **{"x": np.array([1, -1, 4.0]), "weights['w']": np.asarray(jnp.bfloat16(3))})
    nonfinite = numbers(scale, *example, inputs=str(file)).nonfinite
    assert nonfinite is not None
    assert nonfinite.origin.opcode == "sqrt"
    np.savez(file, np.ones(3), np.ones(()))
    assert numbers(scale, *example, inputs=str(file)).nonfinite is None
    np.savez(file, np.ones(3), np.array(np.inf))
    infinite = numbers(scale, *example, inputs=str(file)).nonfinite
    assert infinite is not None
    assert (infinite.kind, infinite.origin.opcode) == ("infinity", "parameter")
    for arrays, message in (
        ([np.ones(4), np.ones(())], r"argument x has the shape \[3\].*arr_0 of shape \[4\]"),
        ([np.ones(3)], r"no array for the argument weights\['w'\]"),
        ([np.ones(3, complex), np.ones(())], "argument x has the type float32.*arr_0 of type complex128"),
        ([np.zeros(3, "V4"), np.ones(())], r"argument x has the type float32.*arr_0 of type \|V4"),
        ([np.full(3, 1e39), np.ones(())], "argument x .*arr_0 with numbers out of its range"),
    ):
        np.savez(file, *arrays)
        with pytest.raises(InspectError, match=message):
            numbers(scale, *example, inputs=str(file))
    for array, message in ((np.full(3, 2**40), "with numbers out of its range"), (np.full(3, 0.5), "of type float64")):
        np.savez(file, array, np.ones(()))
        with pytest.raises(InspectError, match=rf"argument x has the type int32.*arr_0 {message}"):
            numbers(scale, jax.ShapeDtypeStruct((3,), jnp.int32), example[1], inputs=str(file))
    for path, message in ((tmp_path / "no.npz", "no such file"), (tmp_path / "text.npz", "not a file of arrays")):
        (tmp_path / "text.npz").write_text("text")
        with pytest.raises(InspectError, match=message):
            numbers(scale, *example, inputs=str(path))


def test_a_number_of_python_and_arrays_of_a_weak_type_are_inputs_of_the_eager_run() -> None:
    def scale(x: jax.Array, *factors: float | jax.Array, **more: float) -> jax.Array:
        return x * factors[0] * factors[1] + more["b"] * jnp.arange(3)

    example = (jax.ShapeDtypeStruct((3,), jnp.bfloat16), 2.0, jnp.full((3,), 2.0))
    [eager] = numbers(scale, *example, b=3, against=["eager"]).references
    assert (eager.absence, eager.first) == ("", None)


def test_numbers_in_a_file_do_not_stand_for_the_arguments_that_jax_keeps(tmp_path: Path) -> None:
    x = np.ones(3, np.float32)
    np.savez(tmp_path / "both.npz", x, x)
    with pytest.raises(InspectError, match="no array for the argument y; it has arr_0, arr_1, and more arrays than"):
        numbers(lambda x, y: y * 2, x, x, inputs=str(tmp_path / "both.npz"))  # noqa: ARG005 - JAX drops the first one


def test_files_that_numpy_cannot_read_and_values_that_are_no_arrays_are_refused(tmp_path: Path) -> None:
    x = np.ones(3, np.float32)
    path = tmp_path / "inputs.npz"
    endless = "{'descr': '<f4', 'fortran_order'"
    huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }\n"
    for header in (endless, huge):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        with pytest.raises(InspectError, match="is not a file of arrays of numbers"):
            numbers(jnp.tanh, x, inputs=path)
    np.save(tmp_path / "x.npy", x)
    for inputs, message in (
        (tmp_path / "x.npy", "is a single array"),
        ([x], "inputs has the type list; pass random, a path, or arrays by name in a dictionary"),
        ({"x": [[1], [2, 3]]}, "the call has no array of numbers for the argument x: "),
    ):
        with pytest.raises(InspectError, match=message):
            numbers(jnp.tanh, x, inputs=inputs)
