"""Capture programs in a separate process, and write JSON: reproduce.py PROGRAMS OUT [reversed] [busy].

`reversed` takes the programs and targets in the opposite order; `busy` first uses JAX as a page might.
"""

import importlib
import os
import sys
from pathlib import Path

from xla_inspect import capture
from xla_inspect.captured import Times

programs, out, *variants = sys.argv[1:]
sys.path.insert(0, programs)
names = os.environ.get(
    "REPRODUCE", "layer:cpu,h100,mi300x,tpu-v5e softmax:cpu,h100,mi300x,tpu-v5e transformer_block:cpu,tpu-v5e"
)
jobs = [
    (name, target)
    for name, _, targets in (job.partition(":") for job in names.split())
    for target in targets.split(",")
]
if "reversed" in variants:
    jobs.reverse()
if "busy" in variants:
    import jax
    import jax.numpy as jnp

    for name, _ in jobs:
        module = importlib.import_module(f"programs.{name}")
        jax.jit(getattr(module, name)).lower(*module.EXAMPLE)
        jax.grad(lambda x: jax.nn.relu(x).sum())(jnp.ones((3, 3)))


def deep(levels: int, name: str, target: str) -> str:
    if levels:
        return deep(levels - 1, name, target)
    module = importlib.import_module(f"programs.{name}")
    # How long it took is of each process.
    return capture(getattr(module, name), *module.EXAMPLE, target=target, reasons=True).retold(times=Times()).to_json()


for name, target in jobs:
    (Path(out) / f"{name}-{target}.json").write_text(deep(3 if variants else 0, name, target), encoding="utf-8")
