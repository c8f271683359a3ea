"""The result of a compilation: a `Capture`, which is plain data that needs no JAX, and its storage."""

from typing import TYPE_CHECKING

from xla_inspect.lazy_names import lazy_names

if TYPE_CHECKING:
    from xla_inspect.captured.capture import Capture, Captures
    from xla_inspect.captured.log_event import LogEvent, read_log, write_log
    from xla_inspect.captured.low_level import PROGRAM, LowLevel, LowStage, read_low_level, write_low_level
    from xla_inspect.captured.parts import (
        PASSES,
        REST,
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
    from xla_inspect.captured.storage import LATER, pack, unpack
else:
    __getattr__ = lazy_names(__name__)
