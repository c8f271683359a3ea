"""The order of elements in memory follows XLA's formula for tiled layouts, and flat buffers are read back unchanged."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from xla_inspect.evaluation.physical_order import find_order, flatten, unflatten
from xla_inspect.evaluation.plain_lines import PlainLines
from xla_inspect.hlo import Shape, parse_module, read_shape

from .reference import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.evaluation import Evaluator

PAIR = np.random.default_rng(7)
TILINGS = (
    "",
    "T(8)",
    "T(4)",
    "T(2,4)",
    "T(4,8)",
    "T(8,128)",
    "T(8,128)(2,1)",
    "T(4,4)(2,2)",
    "T(2,2,2)",
    "T(8,4)(2,1)",
)


def draw_shapes(count: int) -> Iterator[str]:
    """Yield random shapes with layouts, as in HLO text."""
    while count:
        rank = int(PAIR.integers(1, 5))
        tiling = str(PAIR.choice(TILINGS))
        if tiling.partition(")")[0].count(",") < rank:
            sizes = ",".join(map(str, PAIR.integers(1, 8, rank)))
            order = ",".join(map(str, PAIR.permutation(rank)))
            yield f"s32[{sizes}]{{{order}{':' * bool(tiling)}{tiling}}}"
            count -= 1


SHAPES = [*draw_shapes(60)]


def find_place(index: Sequence[int], sizes: Sequence[int], tiles: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return the place of an element in memory, and the size of the memory, one tiling after the other.

    A tiling divides the last dimensions: all numbers of tiles come first, then all places in a tile.
    """
    index, sizes = [*index], [*sizes]
    for tile in tiles:
        start = len(sizes) - len(tile)
        inner = [number % step for number, step in zip(index[start:], tile, strict=True)]
        index = [*index[:start], *(number // step for number, step in zip(index[start:], tile, strict=True)), *inner]
        sizes = [*sizes[:start], *(-(-size // step) for size, step in zip(sizes[start:], tile, strict=True)), *tile]
    place = 0
    for number, size in zip(index, sizes, strict=True):
        place = place * size + number
    return place, math.prod(sizes)


def walk(shape: Shape, array: np.ndarray) -> np.ndarray:
    """Return an array's memory, with zeros in the padding."""
    order = shape.layout.minor_to_major[::-1]
    sizes = [shape.dimensions[axis] for axis in order]
    _, size = find_place([0] * len(sizes), sizes, shape.layout.tiles)
    memory = np.zeros(size, array.dtype)
    for index in itertools.product(*map(range, shape.dimensions)):
        place, _ = find_place([index[axis] for axis in order], sizes, shape.layout.tiles)
        memory[place] = array[index]
    return memory


def compute(array: np.ndarray, lines: PlainLines) -> np.ndarray:
    """Compute the operations with NumPy, each from the result of the one before."""
    for line in lines.lines:
        shape, operation = re.fullmatch(r"%\S+ = (\S+) (.*)", line).groups()
        opcode, _, fields = operation.partition("(")
        numbers = fields.partition("={")[2].rstrip("}")
        if opcode == "transpose":
            array = array.transpose([int(one) for one in numbers.split(",")])
        elif opcode == "pad":
            edges = operation.partition("padding=")[2].split("x")
            array = np.pad(array, [tuple(map(int, edge.split("_"))) for edge in edges])
        elif opcode == "slice":
            array = array[tuple(slice(0, int(part.partition(":")[2])) for part in numbers.replace("]", "").split(", "))]
        elif opcode == "reshape":
            array = array.reshape([int(one) for one in shape.partition("[")[2].rstrip("]").split(",")])
        else:
            assert operation == "constant(0)"
            continue
        assert shape == f"s32[{','.join(map(str, array.shape))}]"
    return array


@pytest.mark.parametrize("text", SHAPES)
def test_flat_memory_follows_the_formula_of_tiled_layouts(text: str) -> None:
    shape = read_shape(text)
    array = np.arange(1, math.prod(shape.dimensions) + 1, dtype=np.int32).reshape(shape.dimensions)
    order = find_order(shape)
    there, back = PlainLines(), PlainLines()
    back.begin("array")
    flatten(order, "s32", "%x", there)
    back.end(text.partition("{")[0], unflatten(order, "s32", "%flat", back))
    memory = compute(array, there)
    np.testing.assert_array_equal(memory, walk(shape, array))
    np.testing.assert_array_equal(compute(memory, back), array)
    assert order.is_plain == (memory.tobytes() == array.tobytes())


def test_a_tile_that_combines_dimensions_has_no_order() -> None:
    assert find_order(read_shape("f32[4,8]{1,0:T(*,128)}")) is None


def test_a_second_tile_that_pads_has_no_order() -> None:
    assert find_order(read_shape("f32[4,8]{1,0:T(2,4)(3,1)}")) is None


def test_a_bitcast_between_tiled_layouts_keeps_the_memory(evaluator: Evaluator) -> None:
    before, after = "s32[3,10]{0,1:T(2,4)}", "s32[8,5]{0,1:T(1,8)}"
    module = parse_module(
        f"HloModule m\n\nENTRY %main (x: s32[3,10]) -> s32[8,5] {{\n  %x = {before} parameter(0)\n"
        f"  ROOT %bitcast = {after} bitcast(%x)\n}}\n"
    )
    array = np.arange(1, 31, dtype=np.int32).reshape(3, 10)
    [result] = run(evaluator, module, array)
    memory = walk(read_shape(before), array)
    np.testing.assert_array_equal(walk(read_shape(after), result), memory)


def test_a_bitcast_to_another_type_keeps_the_memory(evaluator: Evaluator) -> None:
    module = parse_module(
        "HloModule m\n\nENTRY %main (x: f32[2,3]) -> s32[3,2] {\n  %x = f32[2,3]{0,1} parameter(0)\n"
        "  ROOT %bitcast = s32[3,2]{1,0} bitcast(%x)\n}\n"
    )
    array = np.float32([[1, -0.0, 2], [3, np.nan, 5]])
    [result] = run(evaluator, module, array)
    np.testing.assert_array_equal(result, array.T.copy().view(np.int32))
