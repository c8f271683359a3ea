"""A TPU's code below HLO: bundles (operations issued in one cycle), hardware units, and libtpu's estimates."""

from xla_inspect.analysis.bundles.below_hlo import BundledKernel, read_below
from xla_inspect.analysis.bundles.below_listing import BelowListing, describe_below
from xla_inspect.analysis.bundles.bundle import Bundle
from xla_inspect.analysis.bundles.bundle_units import list_units
from xla_inspect.analysis.bundles.low_steps import find_step
from xla_inspect.analysis.bundles.usage import PARTS, UNITS, Chain

__all__ = [
    "PARTS",
    "UNITS",
    "BelowListing",
    "Bundle",
    "BundledKernel",
    "Chain",
    "describe_below",
    "find_step",
    "list_units",
    "read_below",
]
