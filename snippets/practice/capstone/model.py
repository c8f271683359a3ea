"""Find four reasons why a model is slow, and mend them.

The model is `slow.py`, beside this file. Look at its dump, and count what it compiles:

    uv run xla-inspect show snippets/practice/capstone/slow.py:step --stage after
    uv run python snippets/practice/capstone/slow.py

`slow.LONGEST`, `slow.WIDTH` and the other sizes are there for you to use. In the dump you find

1. a **shape** that makes JAX compile again and again;
2. a **transposition** that keeps the compiler from fusing a product with what follows;
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


HINTS = """
1. Let all pieces have one shape: fill them up with rows of zeros, in NumPy, since `jnp.pad` outside of `step`
   compiles for each shape too. Tell `step` which rows are tokens, and let it keep the memory as it was at the others.
   Let a row of `scores` belong to a token, and not a column. And the old memory is needed no more.

2. Stack the weights of the layers, `jax.tree.map(lambda *each: jnp.stack(each), *layers)`, and let `jax.lax.scan` run
   one layer after the other. Before the update, read the rows that are there with `jax.lax.dynamic_slice`, and choose
   with `jnp.where(is_token, tokens, there)`. Beware of the last rows of the memory: where a window reaches beyond the
   end, `dynamic_slice` and `dynamic_update_slice` move it back without a word. So let none reach beyond it, by
   `start = min(position, slow.LENGTH - slow.LONGEST)`.

3. In `apply`, `scores = tokens @ layer["topics"]`, with maximum and sum over `axis=1` and `keepdims=True`.
   In `step`, `tokens, _ = jax.lax.scan(lambda tokens, layer: (apply(layer, tokens), None), piece, layers)`;
   and above it `@partial(jax.jit, donate_argnames="memory")`.
   In `read`, `padded = np.zeros((slow.LONGEST, slow.WIDTH), np.float32)` and
   `is_token = np.zeros((slow.LONGEST, 1), bool)`; with `here = slice(position - start, position - start + len(piece))`
   then `padded[here], is_token[here] = piece, True`.
"""
