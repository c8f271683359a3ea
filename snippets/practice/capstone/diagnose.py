"""Find out why a model is slow, prove it with lines of its dump, and fix it.

The model is in `patient.py`, next to this file. You are not told what is wrong with it, so read its dump.

    uv run xla-inspect show snippets/practice/capstone/patient.py:step --stage after

It has some of these eight faults:

* `callback`: the program calls Python while it runs.
* `constant`: an array that could be an argument is a constant of the program.
* `copy`: a buffer that could be donated is copied.
* `one_hot`: rows are looked up by a matmul.
* `rows`: a loop processes one row at a time.
* `sort`: rows are sorted although a reduction would be enough.
* `transpose`: a matrix is transposed, or a matmul reads it along its columns.
* `unrolled`: a Python loop over layers of the same kind is unrolled.

Add each fault of the model to `FAULTS`, with the line of the dump that proves it: the whole line, the name of its
instruction, or its shape and opcode, such as "f32[8]{0} add(". The shape and opcode also work on a machine whose
compiler chooses other names. Then fix the faults in `step`, which takes the table of positions as an argument and
returns the same results.

The check looks up your lines in the dump from this machine, and looks for all eight faults in your compiled `step`.
"""

import jax
import jax.numpy as jnp

from practice.capstone import patient

EXAMPLE = (patient.EXAMPLE[0], patient.shape(patient.LENGTH, patient.WIDTH), *patient.EXAMPLE[1:])

FAULTS: dict[str, str] | None = None  # TODO(human): for example {"callback": "%custom-call.1 = ..."}


def step(
    weights: patient.Weights, positions: jax.Array, memory: jax.Array, position: jax.Array, ids: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the probabilities of the next words, and the memory with the hidden states of `ids` at a position."""
    raise NotImplementedError  # TODO(human): start from a copy of `step` in patient.py, and decorate it
