"""Keep what was made of pages and is still right, by content: one store on disk, and what each entry depends on."""

from livepage.keep import outcomes, page_store, rendered
from livepage.keep.inputs import Inputs, Stamp, stamp
from livepage.keep.kernel_watch import REPORT as KERNEL_REPORT
from livepage.keep.watch import Watch

__all__ = [
    "KERNEL_REPORT",
    "Inputs",
    "Stamp",
    "Watch",
    "outcomes",
    "page_store",
    "rendered",
    "stamp",
]
