"""A converter of XLA modules in protocol buffers (`.pb`, `.hlo.pb`) into the text that XLA prints for them."""

from xla_inspect.hlo_proto.hlo_proto import read_hlo_proto
from xla_inspect.hlo_proto.message import MESSAGES

__all__ = ["MESSAGES", "read_hlo_proto"]
