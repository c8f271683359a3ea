"""Find four reasons why a model is slow, and mend them.

The model is `slow.py`, beside this file. Look at its dump, and count what it compiles:

    uv run xla-inspect show snippets/practice/capstone/slow.py:step --stage after
    uv run python snippets/practice/capstone/slow.py

`slow.LONGEST`, `slow.WIDTH` and the other sizes are there for you to use. The dump and the compiles show

1. a **shape** that makes JAX compile again and again;
2. a **transposition** that keeps the compiler from fusing a matmul with what follows;
3. a buffer that could be **donated**, and is copied;
4. a Python **loop** that is written out, layer by layer.

Mend all four here. `read(layers, pieces)` takes and returns the same as in `slow.py`, with the same numbers, and calls
a jitted `step` for each piece. What `step` takes is your business, as is how you arrange the weights for it.

The check lets both read three texts, of which the last fills the memory to its end. It captures the calls of `step`,
judges each of the four by the compiled program, and shows the difference in kernels, bytes and compiles.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from practice.capstone import slow


def step(*arguments: Any) -> jax.Array:  # noqa: ANN401 - the arguments are yours to choose
    """Return the memory with what the layers make of a piece in it."""
    raise NotImplementedError  # TODO(human): begin with a copy of `apply` and `step` of slow.py


def read(layers: list[slow.Layer], pieces: Sequence[np.ndarray]) -> jax.Array:
    """Return the memory after a text: pieces of up to 64 tokens, f32[n,128] -> f32[4096,128]."""
    raise NotImplementedError  # TODO(human): begin with a copy of `read` of slow.py
