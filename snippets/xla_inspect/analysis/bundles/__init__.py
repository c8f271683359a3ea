"""What a TPU runs below HLO: bundles of operations, the units that they take, and what libtpu reckons of them."""

from xla_inspect.analysis.bundles.below_hlo import AROUND, BundledKernel, read_below, share_known
from xla_inspect.analysis.bundles.bundle import UNKNOWN, Bundle, Loop, Slot, find_loops, parse_bundles
from xla_inspect.analysis.bundles.bundle_units import NOTHING, Mnemonic, Unit, find_mnemonic, list_mnemonics, list_units
from xla_inspect.analysis.bundles.low_steps import LowStep, find_step, list_steps
from xla_inspect.analysis.bundles.usage import PARTS, UNITS, Chain, Schedule, Step, Utilization

__all__ = [
    "AROUND",
    "NOTHING",
    "PARTS",
    "UNITS",
    "UNKNOWN",
    "Bundle",
    "BundledKernel",
    "Chain",
    "Loop",
    "LowStep",
    "Mnemonic",
    "Schedule",
    "Slot",
    "Step",
    "Unit",
    "Utilization",
    "find_loops",
    "find_mnemonic",
    "find_step",
    "list_mnemonics",
    "list_steps",
    "list_units",
    "parse_bundles",
    "read_below",
    "share_known",
]
