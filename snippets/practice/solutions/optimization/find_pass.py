"""Find the pass that removed an operation: a solution."""

from xla_inspect import Capture


def find_pass(capture: Capture, opcode: str) -> str | None:
    """Return the name of the pass that removes an opcode for good, or None."""
    count = capture.unoptimized_module.opcode_counts()[opcode]
    name = None
    for change in capture.passes:
        before, count = count, change.module.opcode_counts()[opcode]
        if count:
            # The module still contains it, or contains it again.
            name = None
        elif before:
            name = change.name
    return name
