"""Run what stands on a page, watch over what it does, and hold what the page says to the checks that back it."""

from livepage.run import agreement, backing, supervisor
from livepage.run.audit_events import listen
from livepage.run.backing import KINDS, READING, SOURCE, Backings, Record
from livepage.run.edit_plan import make_plan
from livepage.run.held_run import HeldRun
from livepage.run.page_session import is_whole, remember, run_held, run_page

__all__ = [
    "KINDS",
    "READING",
    "SOURCE",
    "Backings",
    "HeldRun",
    "Record",
    "agreement",
    "backing",
    "is_whole",
    "listen",
    "make_plan",
    "remember",
    "run_held",
    "run_page",
    "supervisor",
]
