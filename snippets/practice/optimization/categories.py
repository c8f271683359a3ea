"""Count the operations of a module by category.

`count(module)` returns how many instructions of each category a module holds, in all its computations: also in those
that fusions, reductions and loops call. `categorise(opcode)` names the category.

Once it is written, compare a module before and after optimization with it:

    uv run python snippets/practice/optimization/categories.py

The check compares with its own count for three programs, before and after, and shows what is missing.
"""

import jax
import jax.numpy as jnp

from xla_inspect import capture
from xla_inspect.hlo import Module, categorise


def count(module: Module) -> dict[str, int]:
    """Return how many instructions of each category there are: `{"element-wise": 4, "structure": 7}`."""
    raise NotImplementedError  # TODO(human): each instruction of each computation


if __name__ == "__main__":
    found = capture(jax.nn.softmax, jax.ShapeDtypeStruct((64, 128), jnp.float32))
    print("before", count(found.unoptimized_module))
    print("after ", count(found.module))
    print("is", categorise("add"))
