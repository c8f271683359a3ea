"""Modules of XLA that were written as protocol buffers (`.pb`, `.hlo.pb`), as the text that XLA prints of them."""

from xla_inspect.hlo_proto.hlo_proto import read_hlo_proto
from xla_inspect.hlo_proto.message import MESSAGES

__all__ = ["MESSAGES", "read_hlo_proto"]
