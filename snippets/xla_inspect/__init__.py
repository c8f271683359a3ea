"""Compile one JAX program for CPUs, GPUs and TPUs with no accelerator present, and read every stage.

Importing this package does not import JAX, and imports only the subpackages that also run in a browser.
It sets environment variables that JAX reads at import (see `xla_inspect.targets`), so import it before JAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import notebook_view
from xla_inspect.errors import HloSyntaxError, InspectError, TargetUnavailableError
from xla_inspect.lazy_names import lazy_names
from xla_inspect.targets import TARGETS, Target, available

if TYPE_CHECKING:
    from xla_inspect.captured import Capture, Captures
    from xla_inspect.commands import load_ipython_extension
    from xla_inspect.compilation import capture, capture_all
    from xla_inspect.questions.collectives import collectives
    from xla_inspect.questions.diff import compare, diff_numbers
    from xla_inspect.questions.kernels import kernels
    from xla_inspect.questions.memory import memory
    from xla_inspect.questions.numbers import numbers
    from xla_inspect.questions.passes import passes
    from xla_inspect.questions.plan import plan
    from xla_inspect.questions.summary import summary
    from xla_inspect.questions.time import time
    from xla_inspect.questions.why import why
else:
    __getattr__ = lazy_names(__name__)


__all__ = [
    "TARGETS",
    "Capture",
    "Captures",
    "HloSyntaxError",
    "InspectError",
    "Target",
    "TargetUnavailableError",
    "available",
    "capture",
    "capture_all",
    "collectives",
    "compare",
    "diff_numbers",
    "kernels",
    "load_ipython_extension",
    "memory",
    "numbers",
    "passes",
    "plan",
    "summary",
    "time",
    "why",
]


def _show_summary(capture: Capture) -> str:
    """Return the summary of a capture as HTML for a notebook."""
    from xla_inspect.answers import write_fragment
    from xla_inspect.questions.summary import summarize

    return write_fragment(summarize(capture.program, [capture], ""))


# The capture's own package must not import answers, which import captures, so the view is set here.
notebook_view.draw = _show_summary
