"""Helpers of the checks: comparisons of results, and counts of compilations, equations, kernels and bytes."""

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
from xla_inspect.plural import plural
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jax.extend import core

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

HIDDEN = ("pure_callback", "io_callback", "ffi_call")
"""Primitives whose work is hidden from the compiler."""

SCALES = {
    "random numbers": 1.0,
    "other random numbers": 1.0,
    "numbers ten times as large": 10.0,
    "numbers a hundred times as large": 100.0,
    "numbers a tenth as large": 0.1,
    "numbers a hundredth as large": 0.01,
    "zeros": 0.0,
}
"""The standard deviation of the numbers in each input, by the input's description."""

_COMPILING = re.compile(
    r"Compiling (?:jit\((.*?)\)|(\S+)) with global shapes and types \((.*)\)\. Argument mapping", re.DOTALL
)
_SHAPED = re.compile(r"ShapedArray\(([^()]*?)(, weak_type=True)?\)")


@contextlib.contextmanager
def compiles() -> Iterator[list[str]]:
    """Yield a list that gets a line for each program compiled in the block: the function's name and argument shapes."""
    programs: list[str] = []
    logger, handler = logging.getLogger("jax"), _Compiles(programs)
    passing_on, level, disabled = logger.propagate, logger.level, logging.root.manager.disable
    logger.addHandler(handler)
    # The messages are collected here and must not appear on the reader's terminal as well.
    logger.propagate = False
    # The reader's file may have changed the logging level.
    logger.setLevel(logging.WARNING)
    logging.disable(logging.NOTSET)
    try:
        with jax.log_compiles():
            yield programs
    finally:
        logging.disable(disabled)
        logger.setLevel(level)
        logger.removeHandler(handler)
        logger.propagate = passing_on


class _Compiles(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._found = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Store the line of a compilation."""
        if match := _COMPILING.match(record.getMessage()):
            shapes = _SHAPED.sub(lambda shape: shape[1], match[3]).rstrip(",")
            self._found.append(f"compiled {match[1] or match[2]} for ({shapes})")


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:  # noqa: ANN401 - NumPy's array, of float32
    """Return a float32 array of normally distributed numbers with the standard deviation `scale`, from a seed."""
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def shapes(*arguments: Any) -> Any:  # noqa: ANN401 - any pytrees
    """Return a tuple of the arguments, with each array replaced by its shape and dtype."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype), arguments)


def say_shape(value: Any) -> str:  # noqa: ANN401 - whatever the reader returned
    """Return the type of an array (`f32[4,8]`), of each array in a dict or tuple, or the name of a Python type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return str(jax.core.ShapedArray(value.shape, value.dtype).str_short(short_dtypes=True))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {say_shape(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(say_shape, value))})"
    return "None (is a `return` missing?)" if value is None else f"a Python {type(value).__name__}"


def expect_shapes(function: Callable[..., Any], arguments: tuple[Any, ...], expected: Any, where: str) -> None:  # noqa: ANN401 - a pytree
    """Trace a function, and check that it returns the expected shapes.

    Args:
        function: The reader's function.
        arguments: Arguments, or their shapes.
        expected: The expected shapes, a pytree.
        where: The file and line of the function.

    Raises:
        WrongError: It returns other shapes, or Python computes the result in a callback.
    """
    jaxpr, result = jax.make_jaxpr(function, return_shape=True)(*arguments)
    if hidden := equations(jaxpr, *HIDDEN):
        text = f"{where}: a callback does the work in Python, where the compiler cannot see it, and nothing is fused"
        raise WrongError(bad(text, hidden, "jaxpr"))
    if say_shape(result) != say_shape(expected):
        text = f"{where}: it returns {say_shape(result)} instead of {say_shape(expected)}"
        raise WrongError(bad(text))


def expect_numbers(result: Any, expected: Any, what: str, tolerance: float = 2e-4) -> None:  # noqa: ANN401 - pytrees of arrays
    """Check that two pytrees contain the same numbers, up to float32 rounding.

    Args:
        result: The result of the reader's function.
        expected: The expected numbers, computed in another way.
        what: A description of the numbers.
        tolerance: The maximum difference, as a fraction of the largest number.

    Raises:
        WrongError: They differ; the message gives the first position.
    """
    for (path, ours), theirs in zip(jax.tree.leaves_with_path(expected), jax.tree.leaves(result), strict=True):
        right, number = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
        # The tolerance refers to the largest number, because small numbers next to it carry its rounding error.
        limit = tolerance * max(float(np.abs(right).max()), 1e-6)
        # The condition is negated after the comparison, so that a NaN, for which every comparison is false, counts as
        # wrong.
        wrong = ~(np.abs(right - number) <= limit)
        if wrong.any():
            place = tuple(int(index) for index in np.argwhere(wrong)[0])
            name = jax.tree_util.keystr(path)
            at = f"{name}{list(place) if place else ''}" or "the result"
            text = (
                f"{what}: the numbers are wrong in {plural(int(wrong.sum()), 'place')} of {wrong.size}; the first is "
                f"{at}, which is {number[place]:.6g} and should be {right[place]:.6g}"
            )
            raise WrongError(bad(text))


def expect(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    expected: Any,  # noqa: ANN401 - a pytree of arrays
    where: str,
    tolerance: float = 2e-4,
) -> None:
    """Check that a function, traced and jitted, returns the expected numbers in float32.

    Raises:
        WrongError: It returns other shapes or numbers.
    """
    shapes_expected = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), np.float32), expected)
    expect_shapes(function, shapes(*arguments), shapes_expected, where)
    expect_numbers(jax.jit(function)(*arguments), expected, where, tolerance)


def equations(jaxpr: core.Jaxpr, *names: str) -> list[str]:
    """Return a line for each equation of a jaxpr and its inner jaxprs, or only for those of the named primitives."""
    return [
        print_equation(equation) for equation in walk_equations(jaxpr) if not names or equation.primitive.name in names
    ]


def judge_loops(jaxprs: Mapping[str, core.Jaxpr], piece: str, where: str) -> Iterator[Remark]:
    """Yield remarks on whether a program grows with its input, and whether a loop processes the input piece by piece.

    Args:
        jaxprs: The jaxprs for a smaller and a larger input, by a description of the input.
        piece: The part of the input that one iteration of a loop would process.
        where: The file and line of the function.
    """
    (less, few), (more, many) = ((size, equations(jaxpr)) for size, jaxpr in jaxprs.items())
    yield judge(
        len(few) == len(many),
        f"the jaxpr has {plural(len(few), 'equation')} for {less} and for {more}",
        f"{where}: the jaxpr has {plural(len(few), 'equation')} for {less} and {len(many)} for {more}: a Python loop "
        "is unrolled, so the program grows with the data. Its first equations are:",
        many,
        "jaxpr",
    )
    loops = equations(jaxprs[more], "scan", "while")
    yield judge(
        not loops,
        f"the jaxpr contains no `scan` or `while`, which would process one {piece} at a time",
        f"{where}: the program contains a loop, which processes one {piece} at a time",
        loops,
        "jaxpr",
    )


def used(jaxpr: core.Jaxpr) -> list[core.JaxprEqn]:
    """Return the equations that the result depends on, in order, with inner jaxprs replaced by their equations."""
    variables: set[Any] = {variable for variable in jaxpr.outvars if not isinstance(variable, Literal)}
    equations_used: list[core.JaxprEqn] = []
    for equation in reversed(jaxpr.eqns):
        if variables.isdisjoint(equation.outvars):
            continue
        variables.update(variable for variable in equation.invars if not isinstance(variable, Literal))
        inner_steps = [used(inner) for inner in jaxprs_in_params(equation.params)]
        # The equations are visited from the last to the first, so each one is inserted at the front.
        equations_used[:0] = [step for inner in inner_steps for step in inner] if inner_steps else [equation]
    return equations_used


def print_equation(equation: core.JaxprEqn) -> str:
    """Return an equation in one line without variables: result types, primitive and operand types."""
    results = ", ".join(_short(variable) for variable in equation.outvars)
    operands = ", ".join(_short(variable) for variable in equation.invars)
    return f"{results} = {equation.primitive.name}({operands})"


def _short(variable: Any) -> str:  # noqa: ANN401 - a variable or a literal
    return str(variable.aval.str_short(short_dtypes=True))


def find_all(module: Module, *opcodes: str) -> list[Instruction]:
    """Return the instructions in all computations of a module that have one of the opcodes."""
    return [instruction for instruction in module.walk() if instruction.opcode in opcodes]


def lines(instructions: Iterable[Instruction]) -> list[str]:
    """Return instructions as lines of the dump, without metadata."""
    return [print_instruction(instruction) for instruction in instructions]


def place_lines(instructions: Iterable[Instruction]) -> list[str]:
    """Return instructions as lines of the dump, each after the name of its computation."""
    return [f"%{instruction.computation}: {print_instruction(instruction)}" for instruction in instructions]


def read_header(capture: Capture, *starts: str) -> list[str]:
    """Return the parts of the optimized module's first line that start with one of the texts."""
    return [part for part in re.split(r", (?=\w+=)", capture.after.partition("\n")[0]) if part.startswith(starts)]


def kernel_lines(capture: Capture) -> list[str]:
    """Return the lines of the kernels, including those inside loops."""
    return lines(kernel.instruction for kernel in list_kernels(capture))


def count_kernels(capture: Capture) -> int:
    """Return the number of kernels in the module, each counted once even if a loop runs it several times."""
    return len(list_kernels(capture))


def count_launches(capture: Capture) -> int:
    """Return how many kernels a call launches; a loop with an unknown trip count counts as one iteration."""
    return sum(kernel.assumed_runs for kernel in list_kernels(capture))


def bytes_moved(capture: Capture) -> int:
    """Return how many bytes a call reads and writes; a loop with an unknown trip count counts as one iteration."""
    module = capture.module
    return sum(
        measure_traffic(module, launch.instruction).total * launch.assumed_runs for launch in list_launches(capture)
    )


def inside(module: Module) -> list[Instruction]:
    """Return the instructions inside fusions, without their parameters."""
    names = fused_computations(module)
    return [
        instruction
        for instruction in module.walk()
        if instruction.computation in names and instruction.opcode != "parameter"
    ]
