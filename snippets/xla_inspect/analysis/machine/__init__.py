"""The machine code of kernels: registers, occupancy, kinds of instructions, loops and vectors."""

from xla_inspect.analysis.machine.kernel_listing import KernelListing, describe_kernels, list_registers
from xla_inspect.analysis.machine.mnemonics import Mix, count_instructions, read_table
from xla_inspect.analysis.machine.occupancy import Occupancy, find_occupancy, read_limits
from xla_inspect.analysis.machine.resources import read_resources

__all__ = [
    "KernelListing",
    "Mix",
    "Occupancy",
    "count_instructions",
    "describe_kernels",
    "find_occupancy",
    "list_registers",
    "read_limits",
    "read_resources",
    "read_table",
]
