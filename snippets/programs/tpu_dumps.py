"""The number of files that a TPU compilation dumps for each way to ask, and the number that hold instructions."""

from __future__ import annotations

import os
import re
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
# The variable to set before Python starts, and what to set it to.
BEFORE = {
    "XLA_FLAGS, before Python starts": ("XLA_FLAGS", "--xla_dump_to={}"),
    "LIBTPU_INIT_ARGS, with XLA's flag": ("LIBTPU_INIT_ARGS", "--xla_dump_to={}"),
    "LIBTPU_INIT_ARGS, with libtpu's flags": ("LIBTPU_INIT_ARGS", "--xla_jf_dump_to={} --xla_jf_dump_llo_text=true"),
}
WAYS = ("a compile option", *BEFORE, "XLA_FLAGS, once JAX has started")
BUNDLES = re.compile(r"-\d+-final_bundles\.txt")
"""The name that libtpu gives a file with the instructions of a part of the program, bundle by bundle."""
QUIET = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


def tpu_dumps() -> dict[str, tuple[int, int, str]]:
    """Return for each way the number of dumped files, the number that list instructions, and the error if any."""
    with tempfile.TemporaryDirectory() as parent:
        started = {}
        for number, way in enumerate(WAYS):
            folder = Path(parent) / str(number)
            folder.mkdir()
            environment = {**os.environ.copy(), **QUIET, "XLA_FLAGS": ""}
            if way in BEFORE:
                name, flags = BEFORE[way]
                environment[name] = flags.format(folder)
            command = [sys.executable, "-c", CHILD, way, str(folder)]
            process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ours
            started[way] = folder, process
        found = {}
        for way, (folder, process) in started.items():
            said = process.communicate()[1].strip().splitlines()
            files = [path.name for path in folder.iterdir()]
            bundles = sum(bool(BUNDLES.search(file)) for file in files)
            found[way] = len(files), bundles, said[-1] if process.returncode and said else ""
        return found


if __name__ == "__main__":
    for line in tpu_dumps().items():
        print(line)
