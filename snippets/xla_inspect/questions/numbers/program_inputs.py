"""The inputs with which all modules of a program run: random numbers, or the arrays of a file."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect import subject as subjects
from xla_inspect.errors import InspectError
from xla_inspect.questions.numbers.array_difference import is_floating, widen
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.hlo import Instruction, Module

MOST_BYTES = 1 << 30
"""The largest size of all inputs together."""

_INTEGERS = 8
RANDOM = "random"


@dataclass(frozen=True)
class ProgramInputs:
    """The inputs of a program.

    Attributes:
        arrays: The array of each parameter, by the parameter's name.
        description: A sentence about their origin.
    """

    arrays: Mapping[str, np.ndarray[Any, Any]]
    description: str


def make_inputs(module: Module, source: Any, seed: int) -> ProgramInputs:  # noqa: ANN401 - a path, arrays, or a word
    """Return the inputs for a module's parameters.

    Args:
        module: The module.
        source: `random`, the path of a file of NumPy (`.npz`), or arrays by the name or number of the parameter.
        seed: The seed of random numbers.

    Raises:
        InspectError: The inputs are too large, or an array is missing or has another shape.
    """
    parameters = module.entry.parameters
    for parameter in parameters:
        if not parameter.shape.is_array or any(parameter.shape.dynamic):
            message = f"{name_parameter(parameter)} is {parameter.shape}; only arrays of a fixed shape can be inputs"
            raise InspectError(message)
    size = sum(parameter.shape.bytes for parameter in parameters)
    if size > MOST_BYTES:
        message = (
            f"the inputs have {format_bytes(size)}, and at most {format_bytes(MOST_BYTES)} can be run here; "
            "pass smaller shapes with --args"
        )
        raise InspectError(message)
    if seed < 0:
        message = "the seed is below 0; pass 0 or more"
        raise InspectError(message)
    if isinstance(source, str) and source == RANDOM:
        generator = np.random.default_rng(seed)
        return ProgramInputs(
            {name_parameter(parameter): _draw(generator, parameter) for parameter in parameters},
            f"Inputs: random numbers with seed {seed}, of a standard normal distribution for floating-point types, "
            f"and from 0 to {_INTEGERS - 1} for integers.",
        )
    arrays, name = (source, "the inputs") if isinstance(source, dict) else (_read_file(Path(source)), str(source))
    return ProgramInputs(
        {
            name_parameter(parameter): _take(arrays, number, parameter, name)
            for number, parameter in enumerate(parameters)
        },
        "Inputs: the arrays of the call." if isinstance(source, dict) else f"Inputs: the arrays of {name}.",
    )


def name_parameter(parameter: Instruction) -> str:
    """Return the name of a parameter in the user's code, as in `params['w']`, or else its name in the module."""
    return parameter.op_name or parameter.name


def _find_type(parameter: Instruction) -> np.dtype[Any]:
    dtype: np.dtype[Any] = subjects.read_shapes(parameter.shape.plain)[0].dtype
    return dtype


def _draw(generator: np.random.Generator, parameter: Instruction) -> np.ndarray[Any, Any]:
    shape, dtype = parameter.shape.dimensions, _find_type(parameter)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    if is_floating(np.empty(0, dtype)):
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    return np.asarray(generator.integers(0, _INTEGERS, shape)).astype(dtype)


def _read_file(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            if not hasattr(file, "files"):
                message = f"{path} is a single array; numpy.savez writes a file of arrays by name"
                raise InspectError(message)
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        message = f"{path}: there is no such file; --inputs takes random or a file that numpy.savez wrote"
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        message = f"{path} is not a file of arrays that numpy.savez wrote"
    raise InspectError(message)


def _take(arrays: Mapping[Any, Any], number: int, parameter: Instruction, file: str) -> np.ndarray[Any, Any]:
    """Return the array of a parameter, which has its name or its number."""
    name, dtype = name_parameter(parameter), _find_type(parameter)
    key = next((key for key in (name, number, str(number), f"arr_{number}") if key in arrays), None)
    if key is None:
        message = f"{file} has no array for the argument {name}; it has {', '.join(map(str, arrays)) or 'none'}"
        raise InspectError(message)
    array = np.asarray(arrays[key])
    if array.shape != parameter.shape.dimensions:
        message = (
            f"the argument {name} has the shape {list(parameter.shape.dimensions)}, and {file} has {key} of shape "
        )
        raise InspectError(message + str(list(array.shape)))
    is_unnamed = array.dtype.type is np.void
    if is_unnamed and dtype.isbuiltin != 1 and array.dtype.itemsize == dtype.itemsize:
        # NumPy's format has no name for types such as bfloat16, so it stores their bytes.
        return array.view(dtype)
    has_fraction = array.dtype.kind in "fc" or is_floating(array)
    is_complex = array.dtype.kind == "c" and dtype.kind != "c"
    if is_unnamed or array.dtype.kind not in "biufcV" or is_complex or (has_fraction and dtype.kind in "biu"):
        message = f"the argument {name} has the type {dtype}, and {file} has {key} of type {array.dtype}"
        raise InspectError(message)
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    is_whole = not is_floating(converted) and dtype.kind != "c"
    if (widen(converted) != widen(array) if is_whole else np.isfinite(array) & ~np.isfinite(converted)).any():
        message = f"the argument {name} has the type {dtype}, and {file} has {key} with numbers out of its range"
        raise InspectError(message)
    return converted
