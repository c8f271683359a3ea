"""The files that one compile leaves when it is asked to dump every pass."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import jax

from programs import layer


def dumped_files() -> list[str]:
    """Return the names of the files, in order; numbers that count what the process compiled before are masked."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*"}
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile(options)
        names = [re.sub(r"module_\d+", "module_NNNN", path.name) for path in Path(folder).iterdir()]
        return sorted(re.sub(r"(apply-xla-transforms)-\d+", r"\1-N", name) for name in names)


if __name__ == "__main__":
    print("\n".join(dumped_files()))
