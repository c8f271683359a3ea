"""Keep what was made of pages and is still right, by content: one store on disk, and what each entry depends on."""

from livepage.keep import file_seal, kernel_watch, outcomes, page_store, rendered
from livepage.keep.inputs import Inputs
from livepage.keep.kernel_watch import REPORT as KERNEL_REPORT
from livepage.keep.theme_templates import Templates
from livepage.keep.watch import Watch

__all__ = [
    "KERNEL_REPORT",
    "Inputs",
    "Templates",
    "Watch",
    "file_seal",
    "kernel_watch",
    "outcomes",
    "page_store",
    "rendered",
]
