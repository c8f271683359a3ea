"""Time the compile of a function that closes over a table, and with the table as an argument: docs/data/constants.json.

Run it on an idle machine: `uv run python scripts/measuring/constants.py [--pairs 5]`.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from measuring.run_stamp import measure_here
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable

MEBIBYTES = (4, 32, 128)
WIDTH = 1024


def time_sizes(pairs: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Time the compilation for each size of the table; return the version of JAX, and the median times."""
    targets.settle()
    return {"jax": jax.__version__}, {"sizes": [time_constants(size, pairs) for size in MEBIBYTES]}


def time_constants(mebibytes: int, pairs: int) -> dict[str, float]:
    """Time lowering and compiling with a table as a constant and as an argument; return the median milliseconds.

    Args:
        mebibytes: The size of the table.
        pairs: The number of repetitions of each, in alternation.
    """
    table = np.ones((mebibytes * 2**20 // 4 // WIDTH, WIDTH), np.float32)
    x = jax.ShapeDtypeStruct((64, table.shape[0]), jnp.float32)
    shape = jax.ShapeDtypeStruct(table.shape, jnp.float32)
    # Both variants alternate, so that a change of the machine's speed affects both.
    closed, passed = [], []
    # Each round times a new lambda, since JAX would find the compiled form of one that it has seen.
    for _ in range(pairs):
        closed.append(spend(lambda x: x @ jnp.sin(table), x))
        passed.append(spend(lambda x, argument: x @ jnp.sin(argument), x, shape))
    return {
        "mebibytes": mebibytes,
        "closed_ms": round(statistics.median(closed), 1),
        "passed_ms": round(statistics.median(passed), 1),
    }


def spend(function: Callable[..., jax.Array], *example: jax.ShapeDtypeStruct) -> float:
    """Lower and compile a function, and return the milliseconds that this took.

    Args:
        function: A function that has not been compiled yet.
        example: Shapes for its arguments.
    """
    start = time.perf_counter()
    jax.jit(function).lower(*example).compile()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    measure_here("constants.json", "constants.py", ("pairs", 5), time_sizes)
