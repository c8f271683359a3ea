"""The store of results that were computed for pages, and the record of the inputs that each result depends on."""

from livepage.keep import common_key, outcomes, page_store, rendered
from livepage.keep.common_key import hash_common, make_key
from livepage.keep.inputs import Inputs, Stamp, stamp
from livepage.keep.kernel_watch import REPORT as KERNEL_REPORT
from livepage.keep.kernel_watch import KernelRecord
from livepage.keep.repository import run_git
from livepage.keep.watch import Watch, record_repository_state

__all__ = [
    "KERNEL_REPORT",
    "Inputs",
    "KernelRecord",
    "Stamp",
    "Watch",
    "common_key",
    "hash_common",
    "make_key",
    "outcomes",
    "page_store",
    "record_repository_state",
    "rendered",
    "run_git",
    "stamp",
]
