"""The thunks that the CPU runs for the dense layer, in order, from its log, which is enabled before Python starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys

ASKED = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "execution_graph=5", "JAX_PLATFORMS": "cpu"}
# What the process runs, since the variables are read once, when XLA is loaded.
CHILD = """
import jax
from programs import layer

jax.jit(layer.layer).lower(*layer.EXAMPLE).compile()
"""
THUNK = re.compile(r"Processing operation \d+ Operation \{name: op: (?P<name>\S+) \(kind: (?P<kind>[^)]+)\)\}")


def cpu_thunks() -> list[tuple[str, str]]:
    """Return name and kind of each thunk of the layer, in the order in which a child process's compiler logs them."""
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", CHILD],
        env={**os.environ.copy(), **ASKED},
        check=True,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    return [(found["name"], found["kind"]) for found in THUNK.finditer(done.stderr)]


if __name__ == "__main__":
    for line in cpu_thunks():
        print(line)
