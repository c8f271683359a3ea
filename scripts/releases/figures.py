"""The device figures of GPUs in the form that each release of the CUDA plugin takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from google.protobuf import text_format

from releases.messages import find_message
from xla_inspect.targets import TARGETS, find_entry, read_spec

if TYPE_CHECKING:
    from pathlib import Path

FILE = "xla/stream_executor/device_description.proto"
MESSAGE = "stream_executor.GpuTargetConfigProto"


def adapt(plugin: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Return the figures of each GPU as a plugin's own message, and how many figures that leaves out.

    A plugin refuses a figure that it has no field for. It holds the description of its messages, which says so.

    Args:
        plugin: The plugin's shared library.
    """
    config = find_message(plugin, FILE, MESSAGE)
    adapted, left_out = {}, {}
    for name in (name for name in TARGETS if find_entry(name).kind == "gpu"):
        text = read_spec(name)
        message = text_format.Parse(text, config(), allow_unknown_field=True)
        adapted[name] = text_format.MessageToString(message)
        left_out[name] = _count(text) - _count(adapted[name])
    return adapted, left_out


def _count(text: str) -> int:
    """Return how many figures a message's text holds."""
    return len(re.findall(r"^\s*\w+: ", text, re.MULTILINE))
