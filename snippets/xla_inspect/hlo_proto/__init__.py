"""Modules of XLA that were written as protocol buffers (`.pb`, `.hlo.pb`), as the text that XLA prints of them."""

from xla_inspect.hlo_proto.hlo_proto import HloProto, read_hlo_proto
from xla_inspect.hlo_proto.schema import MalformedProtoError

__all__ = ["HloProto", "MalformedProtoError", "read_hlo_proto"]
