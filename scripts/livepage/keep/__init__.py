"""The store of results that were computed for pages, and the record of the inputs that each result depends on."""

from livepage.keep import outcomes, page_store, rendered
from livepage.keep.inputs import Inputs, Stamp, stamp
from livepage.keep.kernel_watch import REPORT as KERNEL_REPORT
from livepage.keep.kernel_watch import KernelRecord
from livepage.keep.watch import Watch

__all__ = [
    "KERNEL_REPORT",
    "Inputs",
    "KernelRecord",
    "Stamp",
    "Watch",
    "outcomes",
    "page_store",
    "rendered",
    "stamp",
]
