"""The process of an evaluator: `python -m xla_inspect.evaluation.module_worker FOLDER`, with a task in each line."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xla_inspect import jax_private
from xla_inspect.errors import InspectError
from xla_inspect.evaluation.array_file import read_arrays, write_arrays
from xla_inspect.evaluation.known_values import KnownValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.evaluation.known_values import Shards

_KNOWN = KnownValues()
_compile = lru_cache(1024)(jax_private.compile_hlo)


def main(folder: Path) -> None:
    """Run the task of each line of the standard input, and write a line of JSON for each."""
    for line in sys.stdin:
        answer = {}
        try:
            run(folder, **json.loads(line))
        except Exception as error:  # noqa: BLE001 - the process must go on after any error, such as too little memory
            answer["error"] = str(error) or type(error).__name__
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def run(folder: Path, passes: Sequence[str], devices: int) -> None:
    """Run the module in a folder with the passes that may change it, and write its results to the folder."""
    text = (folder / "module").read_text(encoding="utf-8")
    arguments = read_arrays(folder / "arguments")
    shards = [arguments[at : at + devices] for at in range(0, len(arguments), devices)]

    def compute(text: str, arguments: Sequence[Shards]) -> Sequence[Shards]:
        return jax_private.run_executable(_compile(text, tuple(passes), devices), arguments)

    try:
        results = _KNOWN.run(text, (passes, devices), shards, compute)
    except (InspectError, KeyError, RuntimeError, ValueError, NotImplementedError):
        # The error of the whole module is the one to report, if there is one.
        results = compute(text, shards)
    write_arrays(folder / "results", [shard for result in results for shard in result])


if __name__ == "__main__":
    np.seterr(all="ignore")
    main(Path(sys.argv[1]))
