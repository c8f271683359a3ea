"""The machine code of kernels: registers, occupancy, kinds of instructions, loops and vectors."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.analysis.machine.kernel_listing import KernelListing, describe_kernels, list_registers
    from xla_inspect.analysis.machine.mnemonics import Mix, count_instructions, read_table
    from xla_inspect.analysis.machine.occupancy import Occupancy, find_occupancy, read_limits
    from xla_inspect.analysis.machine.resources import read_resources
else:
    __getattr__ = lazy_names(__name__)
