"""Compile one JAX program for CPU, NVIDIA GPU and TPU with no accelerator present, and read every stage.

Importing this package imports no JAX. It does set the environment that JAX has to find when it is imported
(see `xla_inspect.capture.targets`), so import it before JAX where JAX has not been imported yet.
"""

from xla_inspect.capture.capture import capture, capture_all
from xla_inspect.capture.targets import TARGETS, Target, available
from xla_inspect.errors import HloSyntaxError, InspectError, TargetUnavailableError
from xla_inspect.hlo.record import Capture, Captures

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
