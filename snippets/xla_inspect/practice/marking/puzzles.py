"""The puzzles as data: the measure, target, limits and lower bound of each.

The best known score is the score of the stored solution, compiled on request. The bound is computed from sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from xla_inspect import targets
from xla_inspect.analysis import Count, list_collectives
from xla_inspect.compilation import capture
from xla_inspect.practice.marking import check_helpers
from xla_inspect.report import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class Measure:
    """The measure of a score; a lower score is better.

    Attributes:
        words: The counted thing, such as `kernels`.
        take: Returns the score of a capture.
        in_bytes: Whether the score is a number of bytes.
    """

    words: str
    take: Callable[[Capture], int]
    in_bytes: bool = False

    def tell(self, score: int) -> str:
        """Return a score in words."""
        return f"{format_bytes(score)} ({score:,} bytes) {self.words}" if self.in_bytes else f"{score:,} {self.words}"


def _count_beside(capture: Capture) -> int:
    """Return the temporary memory of a program: the peak without arguments and results, in bytes."""
    memory = capture.memory
    # The CPU's peak does not include its temporaries, and the TPU's peak includes memory that its temporaries do not.
    return max(memory.temporaries, memory.peak - memory.arguments - memory.outputs + memory.aliased)


KERNELS = Measure("kernels", check_helpers.count_kernels)
MOVED = Measure("read and written", check_helpers.bytes_moved, in_bytes=True)
BESIDE = Measure("of temporary memory", _count_beside, in_bytes=True)
WORK = Measure("operations", lambda found: Count(found.module).computation(found.module.entry).flops)
SENT = Measure("sent by each device", lambda found: sum(_sent(each) for each in list_collectives(found.module)), True)  # noqa: FBT003 - in bytes


def _sent(exchange: Any) -> int:  # noqa: ANN401 - a collective
    return int(exchange.sent_bytes * exchange.assumed_runs)


@dataclass(frozen=True)
class Limit:
    """A limit on a program besides its score.

    Attributes:
        words: The limited thing, such as `launches`.
        take: Returns its number in a capture.
        most: Returns the maximum, from the capture of the start.
    """

    words: str
    take: Callable[[Capture], int]
    most: Callable[[Capture], int]


@dataclass(frozen=True)
class Bound:
    """A lower bound for the score of any program.

    Attributes:
        score: Returns the bound, from the capture of the start.
        reason: The reason why no program can have a lower score.
    """

    score: Callable[[Capture], int]
    reason: str


@dataclass(frozen=True)
class Puzzle:
    """The scoring of a puzzle.

    Attributes:
        measure: The measure of the score.
        target: The target, if this machine can compile for it.
        instead: The target to use otherwise.
        bound: The lower bound, if one is known.
        limits: Further limits on the program.
        tolerance: The maximum difference of its numbers, as a fraction of the largest number.
        largest: The largest scale of the inputs.
        centers: The inputs whose mean is not zero: the mean of each argument, by the input's description.
    """

    measure: Measure
    target: str = "cpu"
    instead: str = "cpu"
    bound: Bound | None = None
    limits: tuple[Limit, ...] = ()
    tolerance: float = 1e-4
    largest: float = 100.0
    centers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def choose_target(self) -> str:
        """Return the target for which the puzzle is compiled on this machine."""
        return self.instead if targets.find_target(self.target).obstacle else self.target

    def place(self, target: str) -> str:
        """Return the name of a target with as many devices as the puzzle needs, such as `cpu:8`."""
        _, _, devices = self.target.partition(":")
        return f"{target}:{GRIDS.get(target, devices)}" if devices else target


GRIDS = {"tpu-v5e": "2x4"}
"""The grid of eight devices, for targets that are named with a grid instead of a number of devices."""


def _list_sizes(start: Capture) -> list[int]:
    """Return the bytes of each argument and of the result on one device."""
    entry = start.module.entry
    return [*(parameter.shape.bytes for parameter in entry.parameters), entry.root.shape.bytes]


def _count_row_twice(start: Capture) -> int:
    _, row, position, _ = _list_sizes(start)
    return 2 * row + position


ONCE = Bound(
    lambda start: sum(_list_sizes(start)),
    "each argument is read once and the result is written once",
)

PUZZLES: Mapping[str, Puzzle] = {
    "softmax": Puzzle(
        KERNELS,
        "h100",
        bound=Bound(lambda _: 1, "a result has to be written by a kernel"),
        centers={"rows near 100": (100,), "rows near -100": (-100,)},
    ),
    "history": Puzzle(
        MOVED,
        bound=ONCE,
        limits=(Limit("kernels in the program", check_helpers.count_kernels, lambda _: 8),),
    ),
    "layer_norm": Puzzle(MOVED, bound=ONCE, centers={"rows near 100": (100, 0, 0)}),
    "narrow": Puzzle(MOVED, "h100", bound=ONCE, tolerance=2e-2),
    "cache": Puzzle(
        MOVED, bound=Bound(_count_row_twice, "the row and the position are read once and the row is written once")
    ),
    "attention": Puzzle(
        BESIDE,
        limits=(Limit("launches", check_helpers.count_launches, lambda _: 1000),),
        # With larger inputs, rounding errors in the attention scores change the result.
        largest=10,
        # In float32, the exponential of a score near -200 is zero.
        centers={"scores near -200": (5, -5, 0)},
    ),
    "remat": Puzzle(
        BESIDE,
        limits=(
            Limit("operations", WORK.take, lambda start: WORK.take(start) * 3 // 2),
            Limit("launches", check_helpers.count_launches, lambda _: 200),
        ),
    ),
    "embedding": Puzzle(WORK, bound=Bound(lambda _: 0, "rows can be copied without an operation on any number")),
    # Where the tanh saturates, another order of the matmuls may change a state by more than the default tolerance.
    "hoist": Puzzle(WORK, tolerance=5e-4),
    "sharded": Puzzle(
        SENT,
        "h100:8",
        "cpu:8",
        limits=(
            Limit(
                "bytes of arguments on each device",
                lambda found: found.memory.arguments,
                lambda start: start.memory.arguments,
            ),
        ),
    ),
}
"""The puzzles by name, in the order of the exercises."""


def compile_puzzle(module: ModuleType, name: str, target: str) -> Capture:
    """Return the capture of the start or the improved program of a puzzle.

    Args:
        module: The executed module of the puzzle's file or its solution.
        name: `start` or `better`.
        target: The target to compile for.
    """
    sharded: dict[str, Any] = {}
    # Only the puzzle about sharding has a mesh; `capture` must not get the option for the others.
    if mesh := getattr(module, "MESH", None):
        sharded = {"mesh": mesh, "specs": module.START if name == "start" else module.SPECS}
    return capture(getattr(module, name), *module.EXAMPLE, target=target, passes=False, **sharded)


def list_inputs(
    example: Any,  # noqa: ANN401 - a pytree of shapes
    rows: int,
    largest: float,
    centers: Mapping[str, tuple[float, ...]],
) -> Iterator[tuple[str, Any]]:
    """Yield the description and the arguments of each input for which two programs must return the same numbers.

    Args:
        example: The shapes of the arguments, of float32 and int32.
        rows: The number of rows that the integers select from.
        largest: As in `Puzzle`.
        centers: As in `Puzzle`.
    """
    leaves, tree = jax.tree.flatten(example)

    def fill(seed: int, scale: float = 1.0, means: tuple[float, ...] = (), row: int | None = None) -> Any:  # noqa: ANN401 - a pytree of arrays
        arrays = [
            check_helpers.random(*leaf.shape, seed=100 * seed + at, scale=scale) + np.float32(mean)
            if leaf.dtype == "float32"
            else np.random.default_rng(seed).integers(0, rows, leaf.shape).astype(np.int32)
            if row is None
            else np.full(leaf.shape, row, np.int32)
            for at, (leaf, mean) in enumerate(zip(leaves, means or (0,) * len(leaves), strict=True))
        ]
        return jax.tree.unflatten(tree, arrays)

    for seed, (words, scale) in enumerate(check_helpers.SCALES.items()):
        if scale <= largest:
            yield words, fill(seed, scale)
    for words, means in centers.items():
        yield words, fill(0, means=means)
    if any(leaf.dtype == "int32" for leaf in leaves):
        yield "the first row", fill(0, row=0)
        yield "the last row", fill(0, row=rows - 1)
