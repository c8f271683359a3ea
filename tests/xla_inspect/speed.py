"""The reading speed of HLO text."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from xla_inspect.hlo import parse_module, read_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WORD = re.compile(r"[\w.-]+|[^\w\s]")


def measure_slowness(texts: Sequence[str]) -> float:
    """Return how many times as long it takes to parse texts, without cached shapes, as to split them into words."""
    read_shape.cache_clear()
    return _measure_time(parse_module, texts) / _measure_time(_WORD.findall, texts)


def _measure_time(read_text: Callable[[str], object], texts: Sequence[str]) -> float:
    """Return the seconds of processor time in which a function reads texts."""
    start = time.process_time()
    for text in texts:
        read_text(text)
    return time.process_time() - start
