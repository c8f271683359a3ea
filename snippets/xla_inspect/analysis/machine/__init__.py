"""What machine code takes and does: registers, occupancy, kinds of instructions, loops and vectors."""

from xla_inspect.analysis.machine.mnemonics import Mix, count_instructions, read_table
from xla_inspect.analysis.machine.occupancy import Limits, Occupancy, find_occupancy, read_limits
from xla_inspect.analysis.machine.resources import Resources, read_resources
from xla_inspect.analysis.machine.shared_kernels import assign_kernels
from xla_inspect.analysis.machine.vector_loops import VectorLoop, count_vectors, list_defined, list_loops, measure_width
from xla_inspect.analysis.machine.vector_widths import VectorUse, count_widths

__all__ = [
    "Limits",
    "Mix",
    "Occupancy",
    "Resources",
    "VectorLoop",
    "VectorUse",
    "assign_kernels",
    "count_instructions",
    "count_vectors",
    "count_widths",
    "find_occupancy",
    "list_defined",
    "list_loops",
    "measure_width",
    "read_limits",
    "read_resources",
    "read_table",
]
