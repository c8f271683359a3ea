"""The number of files that libtpu writes about the steps below HLO if its own flags request them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from programs.tpu_dumps import QUIET

# What the process runs, since libtpu reads its flags once, when it is loaded: the dense layer, compiled for a TPU.
CHILD = """
import jax
from jax.experimental import topologies
from programs import layer

with jax.default_device(topologies.get_topology_desc("v5e:2x2", "tpu").devices[0]):
    jax.jit(layer.layer).lower(*layer.EXAMPLE).compile()
"""
FLAGS = "--xla_jf_dump_to={folder} --xla_jf_dump_llo_text=true"
NAME = re.compile(r"^.*-\d+-(?P<stage>.+)$")
FINISHED = "final_bundles"
MATMUL = re.compile(r"\bvmatmul\b")
MLIR = re.compile(r"\bfunc\.func\b|^module\b.*\{$", re.MULTILINE)


def tpu_low_level() -> dict[str, int]:
    """Return how many files and stages there are, finished listings, and those of them with a matmul.

    A file's name ends with the stage after which it was written. A listing with a matmul uses the matrix units.
    The number of files that hold MLIR is returned too. Without libtpu everything is zero.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ.copy(), **QUIET, "LIBTPU_INIT_ARGS": FLAGS.format(folder=folder)}
        command = [sys.executable, "-c", CHILD]
        subprocess.run(command, env=environment, check=False, capture_output=True)  # noqa: S603 - ours
        texts = [(NAME.match(file.stem), file.read_text(encoding="utf-8")) for file in Path(folder).iterdir()]
        finished = [text for name, text in texts if name and name["stage"] == FINISHED]
        return {
            "files": len(texts),
            "stages": len({name["stage"] for name, _ in texts if name}),
            "in MLIR": sum(bool(MLIR.search(text)) for _, text in texts),
            "finished": len(finished),
            "with a matmul": sum(bool(MATMUL.search(text)) for text in finished),
        }


if __name__ == "__main__":
    for line in tpu_low_level().items():
        print(line)
