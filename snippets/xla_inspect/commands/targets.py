"""`xla-inspect targets`: which targets there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import TARGETS, available

if TYPE_CHECKING:
    import argparse

HELP = "list the targets, and why one is not available here"


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Add nothing: it takes no arguments."""


def run(_: argparse.Namespace) -> str:
    """Return a line per target: its name, and `available` or why it is not."""
    width = max(map(len, TARGETS))
    return "\n".join(f"{name:<{width}}  {reason or 'available'}" for name, reason in available().items())
