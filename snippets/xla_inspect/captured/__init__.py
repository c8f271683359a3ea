"""What a compile left behind: a `Capture`, plain data that needs no JAX, and how it is stored."""

from xla_inspect.captured.capture import (
    PASSES,
    REST,
    Capture,
    Captures,
    Code,
    Constant,
    Cost,
    Equations,
    Memory,
    PassChange,
    PassRun,
    Thunk,
    Times,
)
from xla_inspect.captured.storage import pack, unpack

__all__ = [
    "PASSES",
    "REST",
    "Capture",
    "Captures",
    "Code",
    "Constant",
    "Cost",
    "Equations",
    "Memory",
    "PassChange",
    "PassRun",
    "Thunk",
    "Times",
    "pack",
    "unpack",
]
