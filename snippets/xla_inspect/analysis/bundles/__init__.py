"""A TPU's code below HLO: bundles (operations issued in one cycle), hardware units, and libtpu's estimates."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.analysis.bundles.below_hlo import BundledKernel, read_below
    from xla_inspect.analysis.bundles.below_listing import BelowListing, describe_below
    from xla_inspect.analysis.bundles.bundle import Bundle
    from xla_inspect.analysis.bundles.bundle_units import list_units
    from xla_inspect.analysis.bundles.low_steps import find_step
    from xla_inspect.analysis.bundles.usage import PARTS, UNITS, Chain
else:
    __getattr__ = lazy_names(__name__)
