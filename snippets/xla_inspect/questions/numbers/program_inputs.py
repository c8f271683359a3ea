"""The inputs with which all modules of a program run: random numbers, or the arrays of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect import subject as subjects
from xla_inspect.errors import InspectError
from xla_inspect.questions.numbers.array_difference import is_floating, widen
from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from xla_inspect.hlo import Instruction, Module

MOST_BYTES = 1 << 30
"""The largest size of all inputs together, and of all results."""

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
        InspectError: The inputs or the results are too large, or an array is missing or has another shape.
    """
    parameters = module.entry.parameters
    for parameter in parameters:
        if not parameter.shape.is_array or any(parameter.shape.dynamic):
            message = f"{name_parameter(parameter)} is {parameter.shape}; only arrays of a fixed shape can be inputs"
            raise InspectError(message)
    values = {"inputs": [one.shape for one in parameters], "results": module.entry.root.shape.leaves()}
    for kind, shapes in values.items():
        if (size := sum(shape.bytes for shape in shapes)) > MOST_BYTES:
            message = (
                f"the {kind} have {format_bytes(size)}, and at most {format_bytes(MOST_BYTES)} can be run here; "
                "pass smaller shapes with --args"
            )
            raise InspectError(message)
    if not isinstance(seed, int | np.integer) or seed < 0:
        message = f"the seed is {seed!r}; pass an integer of 0 or more"
        raise InspectError(message)
    if isinstance(source, str) and source == RANDOM:
        generator = np.random.default_rng(seed)
        return ProgramInputs(
            {name_parameter(parameter): _draw(generator, parameter) for parameter in parameters},
            f"Inputs: random numbers with seed {seed}, of a standard normal distribution for floating-point types, "
            f"and from 0 to {_INTEGERS - 1} for integers.",
        )
    name = "the call"
    if isinstance(source, str | os.PathLike):
        name, source = str(source), _read_file(Path(source))
    elif not isinstance(source, Mapping):
        message = f"inputs has the type {type(source).__name__}; pass random, a path, or arrays by name in a dictionary"
        raise InspectError(message)
    # JAX drops unused arguments, so the numbers of more arrays than parameters are not those of the parameters.
    numbers = [None if len(source) > len(parameters) else number for number in range(len(parameters))]
    return ProgramInputs(
        {
            name_parameter(parameter): _take(source, number, parameter, name)
            for number, parameter in zip(numbers, parameters, strict=True)
        },
        f"Inputs: the arrays of {name}.",
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


def _read_file(path: Path) -> Mapping[str, np.ndarray[Any, Any]]:
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.ndarray):
            with file:
                return {**file}
        message = f"{path} is a single array; numpy.savez writes a file of arrays by name"
    except FileNotFoundError:
        message = f"{path}: there is no such file; --inputs takes random or a file that numpy.savez wrote"
    except Exception:  # noqa: BLE001 - NumPy and zipfile raise errors of many types for bad files
        message = f"{path} is not a file of arrays of numbers that numpy.savez wrote"
    raise InspectError(message)


def _take(arrays: Mapping[Any, Any], number: int | None, parameter: Instruction, file: str) -> np.ndarray[Any, Any]:
    """Return the array of a parameter, which has its name or its number."""
    name, dtype = name_parameter(parameter), _find_type(parameter)
    keys = [name] if number is None else [name, number, str(number), f"arr_{number}"]
    key = next((key for key in keys if key in arrays), None)
    if key is None:
        message = f"{file} has no array for the argument {name}; it has {', '.join(map(str, arrays)) or 'none'}"
        more = ", and more arrays than the compiled program has arguments, so each needs a name"
        raise InspectError(message + more * (number is None))
    try:
        array = np.asarray(arrays[key])
    except (TypeError, ValueError) as error:
        message = f"{file} has no array of numbers for the argument {name}: {error}"
        raise InspectError(message) from error
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
