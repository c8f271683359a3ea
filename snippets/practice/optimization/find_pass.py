"""Find the pass that removed an operation.

`find_pass(capture, opcode)` returns the name of the pass that removed the last instruction of an opcode for good. It
returns None if the optimized module still contains such an instruction, or if there never was one.

`capture.unoptimized_module` is the input of the compiler. `capture.passes` lists the passes that changed the module,
each with its `name` and the `module` after it. `module.opcode_counts()` counts the instructions by opcode.

Passes also add operations that later passes remove, and some add an operation again that was removed before. The check
asks for opcodes of all these kinds, and shows how many instructions of each the module contains after each pass.
"""

import jax
import jax.numpy as jnp

from xla_inspect import Capture


def find_pass(capture: Capture, opcode: str) -> str | None:
    """Return the name of the pass that removes an opcode for good, or None."""
    raise NotImplementedError  # TODO(human): compare each module with the previous one
