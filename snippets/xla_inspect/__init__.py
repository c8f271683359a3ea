"""Compile one JAX program for CPU, NVIDIA GPU and TPU with no accelerator present, and read every stage.

Importing this package imports no JAX. It does set the environment that JAX has to find when it is imported
(see `xla_inspect.targets`), so import it before JAX where JAX has not been imported yet.
"""

from xla_inspect.captured import Capture, Captures
from xla_inspect.compilation import capture, capture_all
from xla_inspect.errors import HloSyntaxError, InspectError, TargetUnavailableError
from xla_inspect.targets import TARGETS, Target, available

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
]
