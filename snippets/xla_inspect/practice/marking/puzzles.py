"""The puzzles as data: what each is scored by and on which target, what it may take, and what no program can go below.

The best known score is that of the stored solution, compiled when it is asked for; the bound is worked out from sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import targets
from xla_inspect.analysis import Count, list_collectives
from xla_inspect.compilation import capture
from xla_inspect.practice.marking import check_helpers
from xla_inspect.report import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class Measure:
    """What a program is scored by; less is better.

    Attributes:
        words: What is counted, as in `kernels`.
        take: Counts it in a capture.
        in_bytes: Whether it is a number of bytes.
    """

    words: str
    take: Callable[[Capture], int]
    in_bytes: bool = False

    def tell(self, score: int) -> str:
        """Return a score in words."""
        return f"{format_bytes(score)} ({score:,} bytes) {self.words}" if self.in_bytes else f"{score:,} {self.words}"


def _count_beside(found: Capture) -> int:
    """Return the bytes that are needed at once beside arguments and results."""
    memory = found.memory
    # The CPU's peak leaves its temporaries out, and the TPU counts none but in its peak.
    return max(memory.temporaries, memory.peak - memory.arguments - memory.outputs + memory.aliased)


KERNELS = Measure("kernels", check_helpers.count_kernels)
MOVED = Measure("read and written", check_helpers.bytes_moved, in_bytes=True)
BESIDE = Measure("beside arguments and result", _count_beside, in_bytes=True)
WORK = Measure("operations", lambda found: Count(found.module).computation(found.module.entry).flops)
SENT = Measure("sent by each device", lambda found: sum(_sent(each) for each in list_collectives(found.module)), True)  # noqa: FBT003 - in bytes


def _sent(exchange: Any) -> int:  # noqa: ANN401 - a collective
    return int(exchange.sent_bytes * (exchange.runs or 1))


@dataclass(frozen=True)
class Limit:
    """What a program may take besides its score.

    Attributes:
        words: What is limited.
        take: Counts it.
        most: The most that is allowed, from the capture of the start.
    """

    words: str
    take: Callable[[Capture], int]
    most: Callable[[Capture], int]


@dataclass(frozen=True)
class Bound:
    """A score below which no program can be.

    Attributes:
        score: The score, from the capture of the start.
        reason: Why no program can go below it.
    """

    score: Callable[[Capture], int]
    reason: str


@dataclass(frozen=True)
class Puzzle:
    """How a puzzle is scored.

    Attributes:
        measure: What is counted.
        target: For which target it is compiled where this machine can.
        instead: For which target otherwise.
        bound: What no program can go below, where that is known.
        limits: What else the program may take.
        tolerance: How much its numbers may differ, of the largest.
    """

    measure: Measure
    target: str = "cpu"
    instead: str = "cpu"
    bound: Bound | None = None
    limits: tuple[Limit, ...] = ()
    tolerance: float = 5e-4

    def choose_target(self) -> str:
        """Return for which target it is compiled here."""
        return self.instead if targets.find_target(self.target).obstacle else self.target

    def place(self, target: str) -> str:
        """Return a target with as many devices as the puzzle needs."""
        _, _, devices = self.target.partition(":")
        return f"{target}:{GRIDS.get(target, devices)}" if devices else target


GRIDS = {"tpu-v5e": "2x4"}
"""How eight devices lie where their number alone is no topology."""


def _list_sizes(start: Capture) -> list[int]:
    """Return the bytes of each argument on a device, and those of the result."""
    entry = start.module.entry
    return [*(each.shape.bytes for each in entry.parameters), entry.root.shape.bytes]


def _count_row_twice(start: Capture) -> int:
    _, row, position, _ = _list_sizes(start)
    return 2 * row + position


ONCE = Bound(
    lambda start: sum(_list_sizes(start)),
    "each argument is read once, and the result written once",
)

PUZZLES: Mapping[str, Puzzle] = {
    "softmax": Puzzle(KERNELS, "h100", bound=Bound(lambda _: 1, "a result has to be written by a kernel")),
    "history": Puzzle(
        MOVED,
        bound=ONCE,
        limits=(Limit("kernels in the program", check_helpers.count_kernels, lambda _: 8),),
    ),
    "layer_norm": Puzzle(MOVED, bound=ONCE),
    "narrow": Puzzle(MOVED, "h100", bound=ONCE, tolerance=2e-2),
    "cache": Puzzle(
        MOVED, bound=Bound(_count_row_twice, "the row and the position are read once, and the row written once")
    ),
    "attention": Puzzle(BESIDE, limits=(Limit("launches", check_helpers.count_launches, lambda _: 1000),)),
    "remat": Puzzle(
        BESIDE,
        limits=(
            Limit("operations", WORK.take, lambda start: WORK.take(start) * 3 // 2),
            Limit("launches", check_helpers.count_launches, lambda _: 200),
        ),
    ),
    "embedding": Puzzle(WORK, bound=Bound(lambda _: 0, "rows can be copied without an operation on any number")),
    "hoist": Puzzle(WORK),
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
    """Return the capture of the start of a puzzle, or of what is to be better.

    Args:
        module: The puzzle's file, or its solution, executed.
        name: `start` or `better`.
        target: For which target.
    """
    sharded: dict[str, Any] = {}
    if mesh := getattr(module, "MESH", None):
        sharded = {"mesh": mesh, "specs": module.START if name == "start" else module.SPECS}
    return capture(getattr(module, name), *module.EXAMPLE, target=target, passes=False, **sharded)


def make_arguments(example: Any, seed: int, scale: float) -> Any:  # noqa: ANN401 - pytrees of shapes, and of arrays
    """Return arrays of random numbers for a puzzle: whole ones are places of the first argument's rows."""
    leaves, tree = jax.tree.flatten(example)
    rows = leaves[0].shape[0]
    arrays = [
        check_helpers.random(*leaf.shape, seed=100 * seed + at, scale=scale)
        if leaf.dtype == "float32"
        else check_helpers.random_places(*leaf.shape, seed=seed, below=rows)
        for at, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(tree, arrays)
