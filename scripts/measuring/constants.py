"""Time the compile of a function that closes over a table, and with the table as an argument: docs/data/constants.json.

Run it on an idle machine: `uv run python scripts/measuring/constants.py [--pairs 5]`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import time
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

import stamps
from common import ROOT
from measuring.eager_vs_jit import describe_machine
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable

OUT = ROOT / "docs" / "data" / "constants.json"
MEBIBYTES = (4, 32, 128)
WIDTH = 1024


def main() -> None:
    """Measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    pairs = parser.parse_args().pairs
    targets.settle()
    content = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": describe_machine(),
        "pairs": pairs,
        "sizes": [compare(size, pairs) for size in MEBIBYTES],
    }
    stamps.write(OUT, "uv run python scripts/measuring/constants.py", {"jax": jax.__version__}, content)


def compare(mebibytes: int, pairs: int) -> dict[str, float]:
    """Return the median milliseconds to lower and compile with a table closed over, and with one passed in.

    Args:
        mebibytes: The size of the table.
        pairs: How often each is done, in turn.
    """
    table = np.ones((mebibytes * 2**20 // 4 // WIDTH, WIDTH), np.float32)
    x = jax.ShapeDtypeStruct((64, table.shape[0]), jnp.float32)
    shape = jax.ShapeDtypeStruct(table.shape, jnp.float32)
    closed, passed = [], []
    for _ in range(pairs):
        closed.append(spend(lambda x: x @ jnp.sin(table), x))
        passed.append(spend(lambda x, given: x @ jnp.sin(given), x, shape))
    return {
        "mebibytes": mebibytes,
        "closed_ms": round(statistics.median(closed), 1),
        "passed_ms": round(statistics.median(passed), 1),
    }


def spend(function: Callable[..., jax.Array], *example: jax.ShapeDtypeStruct) -> float:
    """Return the milliseconds that lowering and compiling a function took.

    Args:
        function: A function that was not compiled yet.
        example: Shapes for its arguments.
    """
    start = time.perf_counter()
    jax.jit(function).lower(*example).compile()
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
