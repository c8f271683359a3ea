"""The command `xla-inspect targets`, which lists the targets and whether this machine can compile for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from xla_inspect.targets import TARGETS, available

if TYPE_CHECKING:
    import argparse


def run_command(_: argparse.Namespace, out: TextIO) -> int:
    """Print a line for each target, with `available` or the reason why it is not, and return the exit status."""
    width = max(map(len, TARGETS))
    out.writelines(f"{name:<{width}}  {reason or 'available'}\n" for name, reason in available().items())
    return 0
