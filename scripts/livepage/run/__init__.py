"""The execution of pages: their pieces run under supervision, and their sentences are compared with the checks."""

from livepage.run import backing, kernel_asserts, sentence_checks
from livepage.run.audit_events import is_own, is_own_file, is_writing, listen
from livepage.run.backing import KINDS, SOURCE, Backings, Record
from livepage.run.page_session import LINE_LOG, has_every_target, remember, run_page

__all__ = [
    "KINDS",
    "LINE_LOG",
    "SOURCE",
    "Backings",
    "Record",
    "backing",
    "has_every_target",
    "is_own",
    "is_own_file",
    "is_writing",
    "kernel_asserts",
    "listen",
    "remember",
    "run_page",
    "sentence_checks",
]
