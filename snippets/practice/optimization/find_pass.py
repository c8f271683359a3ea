"""Say which pass got rid of an operation.

`find_pass(found, opcode)` returns the name of the pass after which no instruction of an opcode is in the module any
more, for good. It returns None where the optimized module still holds one, and where there never was one.

`found` is a capture. `found.unoptimized_module` is the module as the compiler gets it, `found.passes` lists the passes
that changed it, each with its `name` and the `module` after it, and `module.opcode_counts()` counts by opcode.

Passes also bring in operations of their own, which later ones take out again, or bring back what was removed. The check
asks for opcodes of all these kinds, and shows how often each stood in the module after each pass.
"""

from xla_inspect import Capture


def find_pass(found: Capture, opcode: str) -> str | None:
    """Return the name of the pass after which an opcode is removed for good, or None."""
    raise NotImplementedError  # TODO(human): compare each module with the one before
