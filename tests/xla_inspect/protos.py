"""The compiler's own protobuf messages, rebuilt from the descriptions inside jaxlib; an oracle for tests only."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jaxlib
from messages import find_message


@cache
def hlo_proto() -> Any:  # noqa: ANN401 - the class is built at run time
    """Return the message class `xla.HloProto` (a module, and its buffer assignment if there is one)."""
    library = Path(jaxlib.__file__).parent / "libjax_common.so"
    return find_message(library, "xla/service/hlo.proto", "xla.HloProto")
