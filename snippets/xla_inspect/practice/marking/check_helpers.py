"""What checks measure: compiles, matmuls, kernels, bytes, and the shapes of what functions return."""

from __future__ import annotations

import contextlib
import logging
import re
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend.core import Literal, jaxprs_in_params

from xla_inspect.analysis import fused_computations, list_kernels, list_launches, measure_traffic, print_instruction
from xla_inspect.compilation import walk_equations
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jax.extend import core

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

HIDDEN = ("pure_callback", "io_callback", "ffi_call")
"""Primitives that no compiler looks into."""

_COMPILING = re.compile(
    r"Compiling (?:jit\((.*?)\)|(\S+)) with global shapes and types \((.*)\)\. Argument mapping", re.DOTALL
)
_SHAPED = re.compile(r"ShapedArray\(([^()]*?)(, weak_type=True)?\)")


@contextlib.contextmanager
def compiles() -> Iterator[list[str]]:
    """Collect what JAX compiles meanwhile, a line each: the name of the function, and the shapes of its arguments."""
    compiled: list[str] = []
    logger, handler = logging.getLogger("jax"), _Compiles(compiled)
    passing_on, level, disabled = logger.propagate, logger.level, logging.root.manager.disable
    logger.addHandler(handler)
    logger.propagate = False
    # Whatever a file of the reader's wants logged.
    logger.setLevel(logging.WARNING)
    logging.disable(logging.NOTSET)
    try:
        with jax.log_compiles():
            yield compiled
    finally:
        logging.disable(disabled)
        logger.setLevel(level)
        logger.removeHandler(handler)
        logger.propagate = passing_on


class _Compiles(logging.Handler):
    def __init__(self, compiled: list[str]) -> None:
        super().__init__()
        self._found = compiled

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is compiled."""
        if match := _COMPILING.match(record.getMessage()):
            shapes = _SHAPED.sub(lambda shape: shape[1], match[3]).rstrip(",")
            self._found.append(f"compiled {match[1] or match[2]} for ({shapes})")


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:  # noqa: ANN401 - NumPy's array, of float32
    """Return an array of random numbers, the same each time."""
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def random_places(*shape: int, seed: int, below: int) -> Any:  # noqa: ANN401 - NumPy's array, of int32
    """Return an array of random whole numbers from 0, the same each time."""
    return np.random.default_rng(seed).integers(0, below, shape).astype(np.int32)


def shapes(*arguments: Any) -> Any:  # noqa: ANN401 - any pytrees
    """Return arguments with the shape and dtype in place of each array."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype), arguments)


def say_shape(value: Any) -> str:  # noqa: ANN401 - whatever the reader returned
    """Return the type of a value as jaxprs and HLO write it: `f32[4,8]`, or the name of its Python type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return str(jax.core.ShapedArray(value.shape, value.dtype).str_short(short_dtypes=True))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {say_shape(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(say_shape, value))})"
    return "None (is a `return` missing?)" if value is None else f"a Python {type(value).__name__}"


def expect_shapes(function: Callable[..., Any], arguments: tuple[Any, ...], expected: Any, where: str) -> None:  # noqa: ANN401 - a pytree
    """Trace a function, and do nothing where it returns the shapes that are wanted.

    Args:
        function: The reader's function.
        arguments: Arguments, or their shapes.
        expected: The shapes that it should return, a pytree.
        where: Where the function stands.

    Raises:
        WrongError: It returns something else, or lets Python compute it while it runs.
    """
    jaxpr, result = jax.make_jaxpr(function, return_shape=True)(*arguments)
    if hidden := equations(jaxpr, *HIDDEN):
        text = f"{where}: a callback takes the work back to Python, where no compiler sees it, and nothing is fused"
        raise WrongError(bad(text, hidden, "jaxpr"))
    if say_shape(result) != say_shape(expected):
        text = f"{where}: it returns {say_shape(result)}, and {say_shape(expected)} is asked for"
        raise WrongError(bad(text))


def expect_numbers(result: Any, expected: Any, what: str, tolerance: float = 2e-4) -> None:  # noqa: ANN401 - pytrees of arrays
    """Do nothing where two pytrees hold the same numbers, up to the rounding of float32.

    Args:
        result: What the reader's function returned.
        expected: The numbers that it should have returned, computed in another way.
        what: What the numbers are.
        tolerance: How much they may differ, of the largest number.

    Raises:
        WrongError: They differ; with the first place.
    """
    for (path, ours), theirs in zip(jax.tree.leaves_with_path(expected), jax.tree.leaves(result), strict=True):
        right, number = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
        limit = tolerance * max(float(np.abs(right).max()), 1e-6)
        wrong = ~(np.abs(right - number) <= limit)
        if wrong.any():
            place = tuple(int(index) for index in np.argwhere(wrong)[0])
            name = jax.tree_util.keystr(path)
            at = f"{name}{list(place) if place else ''}" or "the result"
            text = (
                f"{what}: the numbers are wrong in {int(wrong.sum())} of {wrong.size} places; first at {at}, which is "
                f"{number[place]:.6g} and should be {right[place]:.6g}"
            )
            raise WrongError(bad(text))


def expect(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    expected: Any,  # noqa: ANN401 - a pytree of arrays
    where: str,
    tolerance: float = 2e-4,
) -> None:
    """Do nothing where a function, traced and jitted, returns the numbers that are wanted, in float32.

    Raises:
        WrongError: It returns something else.
    """
    wanted = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), np.float32), expected)
    expect_shapes(function, shapes(*arguments), wanted, where)
    expect_numbers(jax.jit(function)(*arguments), expected, where, tolerance)


def equations(jaxpr: core.Jaxpr, *names: str) -> list[str]:
    """Return the equations of a jaxpr that are of some primitives, those of inner jaxprs included, a line each."""
    return [
        print_equation(equation) for equation in walk_equations(jaxpr) if not names or equation.primitive.name in names
    ]


def judge_loops(jaxprs: Mapping[str, core.Jaxpr], piece: str, where: str) -> Iterator[Remark]:
    """Say whether a program grows with what it is given, and whether it takes that piece by piece.

    Args:
        jaxprs: What is traced for less and for more, by what that is.
        piece: What a loop would take one after the other.
        where: Where the function stands.
    """
    (less, few), (more, many) = ((size, equations(jaxpr)) for size, jaxpr in jaxprs.items())
    yield judge(
        len(few) == len(many),
        f"the jaxpr has {len(few)} equations, for {less} and for {more}",
        f"{where}: the jaxpr has {len(few)} equations for {less} and {len(many)} for {more}: a Python loop is written "
        "out, and the program grows with the data. It begins so:",
        many,
        "jaxpr",
    )
    loops = equations(jaxprs[more], "scan", "while")
    yield judge(
        not loops,
        f"the jaxpr holds no `scan` and no `while`, which would take one {piece} after the other",
        f"{where}: the program holds a loop, which takes one {piece} after the other",
        loops,
        "jaxpr",
    )


def used(jaxpr: core.Jaxpr) -> list[core.JaxprEqn]:
    """Return the equations that the result depends on, in order; of one that holds a jaxpr, those inside."""
    needed: set[Any] = {variable for variable in jaxpr.outvars if not isinstance(variable, Literal)}
    equations_used: list[core.JaxprEqn] = []
    for equation in reversed(jaxpr.eqns):
        if needed.isdisjoint(equation.outvars):
            continue
        needed.update(variable for variable in equation.invars if not isinstance(variable, Literal))
        held = [used(inner) for inner in jaxprs_in_params(equation.params)]
        equations_used[:0] = [step for inner in held for step in inner] if held else [equation]
    return equations_used


def print_equation(equation: core.JaxprEqn) -> str:
    """Return an equation in one line without variables: what it makes, the primitive, and what it takes."""
    made = ", ".join(_short(variable) for variable in equation.outvars)
    taken = ", ".join(_short(variable) for variable in equation.invars)
    return f"{made} = {equation.primitive.name}({taken})"


def _short(variable: Any) -> str:  # noqa: ANN401 - a variable or a literal
    return str(variable.aval.str_short(short_dtypes=True))


def find_all(module: Module, *opcodes: str) -> list[Instruction]:
    """Return the instructions of a module that have one of some opcodes, wherever they stand."""
    return [instruction for instruction in module.walk() if instruction.opcode in opcodes]


def lines(instructions: Iterable[Instruction]) -> list[str]:
    """Return instructions as the dump has them, without metadata."""
    return [print_instruction(instruction) for instruction in instructions]


def place_lines(instructions: Iterable[Instruction]) -> list[str]:
    """Return the same, each after the computation that it stands in."""
    return [f"%{instruction.computation}: {print_instruction(instruction)}" for instruction in instructions]


def read_header(capture: Capture, *starts: str) -> list[str]:
    """Return the parts of a module's first line that start so."""
    return [part for part in re.split(r", (?=\w+=)", capture.after.partition("\n")[0]) if part.startswith(starts)]


def kernel_lines(capture: Capture) -> list[str]:
    """Return the lines of the kernels, loops opened."""
    return lines(kernel.instruction for kernel in list_kernels(capture))


def count_kernels(capture: Capture) -> int:
    """Return how many kernels the module launches, each counted once however often a loop runs it."""
    return len(list_kernels(capture))


def count_launches(capture: Capture) -> int:
    """Return how many kernels a call launches, with the loops that have a known count run."""
    return sum(kernel.runs or 1 for kernel in list_kernels(capture))


def bytes_moved(capture: Capture) -> int:
    """Return the bytes that all launches of a call read and write, with the loops that have a known count run."""
    module = capture.module
    return sum(
        measure_traffic(module, launch.instruction).total * (launch.runs or 1) for launch in list_launches(capture)
    )


def inside(module: Module) -> list[Instruction]:
    """Return the instructions that run inside a fusion, without its parameters."""
    names = fused_computations(module)
    return [
        instruction
        for instruction in module.walk()
        if instruction.computation in names and instruction.opcode != "parameter"
    ]
