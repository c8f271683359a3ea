"""Say which pass got rid of an operation: a solution."""

from xla_inspect import Capture


def find_pass(found: Capture, opcode: str) -> str | None:
    """Return the name of the pass after which an opcode is removed for good, or None."""
    count = found.unoptimized_module.opcode_counts()[opcode]
    name = None
    for change in found.passes:
        before, count = count, change.module.opcode_counts()[opcode]
        if count:
            # It is there, or there again.
            name = None
        elif before:
            name = change.name
    return name
