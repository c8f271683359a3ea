"""How many files a compile for a TPU dumps, by the way in which it was asked to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What each of the processes runs: compile one program for a TPU, asked for in the way that is named.
CHILD = """
import os, sys
import jax
from jax.experimental import topologies

way, folder = sys.argv[1:]
asked = "--xla_dump_to=" + folder
if way == "XLA_FLAGS, once JAX has started":
    jax.devices()
    os.environ["XLA_FLAGS"] = asked
device = topologies.get_topology_desc("v5e:2x2", "tpu").devices[0]
options = {"xla_dump_to": folder} if way == "a compile option" else {}
with jax.default_device(device):
    jax.jit(lambda x: x + 1).lower(1.0).compile(options)
"""
BEFORE = {"XLA_FLAGS, before Python starts": "XLA_FLAGS", "LIBTPU_INIT_ARGS, before Python starts": "LIBTPU_INIT_ARGS"}
WAYS = ("a compile option", *BEFORE, "XLA_FLAGS, once JAX has started")
QUIET = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


def tpu_dumps() -> dict[str, tuple[int, str]]:
    """Return, for each way, how many files were dumped, and the last line of the process if it failed."""
    with tempfile.TemporaryDirectory() as name:
        started = {}
        for number, way in enumerate(WAYS):
            folder = Path(name) / str(number)
            folder.mkdir()
            environment = {**os.environ, **QUIET, "XLA_FLAGS": ""}
            if way in BEFORE:
                environment[BEFORE[way]] = f"--xla_dump_to={folder}"
            command = [sys.executable, "-c", CHILD, way, str(folder)]
            process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ours
            started[way] = folder, process
        found = {}
        for way, (folder, process) in started.items():
            said = process.communicate()[1].strip().splitlines()
            found[way] = len(list(folder.iterdir())), said[-1] if process.returncode and said else ""
        return found


if __name__ == "__main__":
    for line in tpu_dumps().items():
        print(line)
