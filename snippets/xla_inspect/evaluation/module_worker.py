"""The process of an evaluator: `python -m xla_inspect.evaluation.module_worker FOLDER`, with a task in each line."""

from __future__ import annotations

import json
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect import jax_private
from xla_inspect.evaluation.array_file import read_arrays, write_arrays
from xla_inspect.evaluation.known_values import KnownValues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.evaluation.known_values import Shards

_KNOWN = KnownValues()


def main(folder: Path) -> None:
    """Run the task of each line of the standard input, and write a line of JSON for each."""
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer: dict[str, Any] = {"seconds": run(folder, task)}
        except (RuntimeError, ValueError, NotImplementedError) as error:
            answer = {"error": str(error)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def run(folder: Path, task: Mapping[str, Any]) -> float:
    """Run one task, write its results to its file, and return the seconds that it took.

    Args:
        folder: The folder of all files.
        task: The names of the files of the module, the arguments and the results, the number of devices, and the
            passes that may run.
    """
    start = time.monotonic()
    text, passes, devices = (folder / task["module"]).read_text(encoding="utf-8"), task["passes"], task["devices"]
    arguments = read_arrays(folder / task["arguments"])
    shards = [arguments[at : at + devices] for at in range(0, len(arguments), devices)]

    def compute(text: str, arguments: Sequence[Shards]) -> Sequence[Shards]:
        return jax_private.run_executable(_compile(text, tuple(passes), devices), arguments)

    try:
        results = _KNOWN.run(text, (passes, devices), shards, compute)
    except (KeyError, RuntimeError, ValueError, NotImplementedError):
        # The error of the whole module is the one to report, if there is one.
        results = compute(text, shards)
    write_arrays(folder / task["results"], [shard for result in results for shard in result])
    return time.monotonic() - start


@lru_cache(1024)
def _compile(text: str, passes: Sequence[str], devices: int) -> Any:  # noqa: ANN401 - as in `compile_hlo`
    return jax_private.compile_hlo(text, passes, devices)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(Path(sys.argv[1]))
