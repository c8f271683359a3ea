"""Find out for yourself why a model is slow, prove it by its dump, and mend it.

The model is `patient.py`, beside this file. Nobody says what is wrong with it: read its dump.

    uv run xla-inspect show snippets/practice/capstone/patient.py:step --stage after

It has some of these eight faults, and not the others:

* `callback`: the program goes back to Python while it runs;
* `constant`: an array that could be an argument is part of the program;
* `copy`: a buffer that could be donated is copied;
* `one_hot`: rows are looked up by a matmul;
* `rows`: a loop takes one row after the other;
* `sort`: rows are sorted where a reduction would do;
* `transpose`: a matrix is transposed, or a matmul reads it along its columns;
* `unrolled`: a Python loop over layers that are alike is written out.

Write into `FAULTS` each fault that it has, with the line of the dump that proves it: the whole line, the name of its
instruction, or what it makes, as in "f32[8]{0} add(", which also holds where another machine's compiler gives other
names. Then mend them in `step`, which gets the table of positions as an argument and returns the same.

The check looks your lines up in the dump that it makes on this machine, and looks for all eight faults in what your
`step` compiles to.
"""

import jax

from practice.capstone import patient

EXAMPLE = (patient.EXAMPLE[0], patient.shape(patient.LENGTH, patient.WIDTH), *patient.EXAMPLE[1:])

FAULTS: dict[str, str] | None = None  # TODO(human): as in {"callback": "%custom-call.1 = ..."}


def step(
    weights: patient.Weights, positions: jax.Array, memory: jax.Array, position: jax.Array, ids: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the shares of the words that may follow, and the memory with a piece in it, from a position on."""
    raise NotImplementedError  # TODO(human): begin with a copy of `step` of patient.py; and decorate it
