"""The thunks of a GPU's executable in XLA's dump: as the compiler creates them, and after the passes over them."""

from __future__ import annotations

import re
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from programs import mlp, rnn, train_step
from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MADE, AFTER = "thunk_sequence.txt", "thunk_sequence_after_thunk_passes.txt"
FEW: dict[str, str | int] = {"xla_gpu_graph_min_graph_size": 1}
NONE: dict[str, str | int] = {"xla_gpu_enable_command_buffer": ""}
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, str | int]]] = {
    "mlp": (mlp.mlp, mlp.EXAMPLE, {}),
    "mlp, from one kernel on": (mlp.mlp, mlp.EXAMPLE, FEW),
    "train_step": (train_step.train_step, train_step.EXAMPLE, {}),
    "train_step, none": (train_step.train_step, train_step.EXAMPLE, NONE),
    "rnn": (rnn.rnn, rnn.EXAMPLE, {}),
    "rnn, from one kernel on": (rnn.rnn, rnn.EXAMPLE, FEW),
}


def thunk_dumps() -> dict[str, Any]:
    """Return the thunk texts that XLA dumps for an H100.

    Returns:
        `cases`: for each case its texts, by `MADE` and, if passes changed it, `AFTER`. `gathered`: for
        programs of one to eight kernels, in order, whether XLA makes a command buffer of them by default.
    """
    (device, *_) = targets.find_target("h100").devices()
    shape = (jax.ShapeDtypeStruct((1024,), jnp.float32),)
    return {
        "cases": {case: dump_case(device, *asked) for case, asked in CASES.items()},
        "gathered": [AFTER in dump_case(device, partial(chain, links=links), shape, {}) for links in range(1, 9)],
    }


def dump_case(
    device: jax.Device, function: Callable[..., Any], example: tuple[Any, ...], options: Mapping[str, str | int]
) -> dict[str, str]:
    """Compile one program, and return its dumped thunk texts by `MADE` and `AFTER`, each if it exists.

    Args:
        device: A GPU, or its description, for which to compile.
        function: What to compile.
        example: Shapes for its arguments.
        options: Further compiler options of XLA.
    """
    with tempfile.TemporaryDirectory() as folder, jax.default_device(device):
        jax.jit(function).lower(*example).compile({"xla_dump_to": folder, **options})
        return {
            name: re.sub(r" +$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            for name in (MADE, AFTER)
            for path in Path(folder).glob(f"*.{name}")
        }


def chain(x: jax.Array, links: int) -> jax.Array:
    """Return x after `links` sines, with barriers that make each a separate kernel.

    Args:
        x: An array of any shape.
        links: How many kernels.
    """
    for _ in range(links):
        x = jax.lax.optimization_barrier(jnp.sin(x))
    return x


if __name__ == "__main__":
    print(thunk_dumps()["cases"]["rnn"][AFTER])
