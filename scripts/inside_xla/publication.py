"""What the published site may show: settings that a maintainer decides, and not the machine that builds it."""

from __future__ import annotations

TPU_BUNDLES = False
"""Whether pages show the text of a TPU's bundles, as libtpu prints it.

libtpu's package names its maker's general terms, which say nothing of what it prints. Without the text the pages are
whole: counts, utilization, cycles and what the steps below HLO do are shown in any case, and `xla-inspect show --stage
code` prints the bundles on the reader's own machine.
"""


def may_show_bundles() -> bool:
    """Return whether a page may show the text of bundles."""
    return TPU_BUNDLES
