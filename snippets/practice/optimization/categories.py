"""Count the operations of a module by category.

`count(module)` returns the number of instructions of each category in all computations of a module, including those
that fusions, reductions and loops call. `categorise(opcode)` returns the category of an opcode.

When the function is written, compare a module before and after optimization with it:

    uv run python snippets/practice/optimization/categories.py

The check compares your result with its own count for three programs before and after optimization, and lists
the missing instructions.
"""

import jax
import jax.numpy as jnp

from xla_inspect import capture
from xla_inspect.hlo import Module, categorise


def count(module: Module) -> dict[str, int]:
    """Return the number of instructions of each category: `{"element-wise": 4, "structure": 7}`."""
    raise NotImplementedError  # TODO(human): go through the instructions of all computations


if __name__ == "__main__":
    softmax = capture(jax.nn.softmax, jax.ShapeDtypeStruct((64, 128), jnp.float32))
    print("before:", count(softmax.unoptimized_module))
    print("after: ", count(softmax.module))
    print("the category of add:", categorise("add"))
