# /// script
# requires-python = "==3.11.*"
# dependencies = [
#   "filelock==4.2.11",
#   "fsspec==2026.9.0",
#   "jinja2==3.1.6",
#   "markupsafe==3.0.4",
#   "mpmath==1.3.0",
#   "networkx==3.6.1",
#   "numpy==2.4.6",
#   "setuptools==84.2.1",
#   "sympy==1.14.0",
#   "torch==2.13.0+cpu",
#   "typing-extensions==4.16.0",
# ]
#
# [tool.peers]
# needs = ["g++"]
# ///
"""What `torch.compile` does with the four programs: TorchDynamo's graphs and guards, Inductor's kernels and modes."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

# Kernels from nothing, for one thread: a cache would hide how many there are.
os.environ.update(OMP_NUM_THREADS="1", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCHINDUCTOR_COMPILE_THREADS="1")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()

import torch
from torch._inductor import config

from peers.recording import Recording
from peers.torch import graphs, kernels


def main() -> None:
    """Write the record."""
    torch.set_num_threads(1)
    config.cpp.threads = 1
    config.cpp.simdlen = 256  # eight floats, which most x86-64 processors have, rather than what this one has
    recording = Recording("torch")
    kernels.record(recording)
    graphs.record(recording)
    recording.write()


if __name__ == "__main__":
    main()
