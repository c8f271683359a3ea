"""The record of the release that changed the program of a chapter: `scripts/measuring/since-record`."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import chdir, redirect_stdout

import stamps
from common import ROOT
from xla_inspect.commands import NO
from xla_inspect.commands import main as run_command

FOLDER, RECORD = ROOT / "snippets" / "training", ROOT / "docs" / "data" / "since.json"
WORDS = ("accumulate.py:accumulate", "--from", "0.10.2", "--to", "0.11.1", "--ask", "code", "--run", "--json")


def main() -> int:
    """Run `xla-inspect since`; only if a release changed the program, write docs/data/since.json and return 0."""
    out = io.StringIO()
    with chdir(FOLDER), redirect_stdout(out):
        status = run_command(["since", *WORDS])
    # The exit status NO means that a release changed the program, which is the result to record.
    if status != NO:
        return status or 1
    content = json.loads(out.getvalue())
    newest = content["rows"][-1]["versions"]
    versions = {name: newest[name] for name in ("jax", "jaxlib")}
    stamps.write_sealed(RECORD, "scripts/measuring/since-record", versions, content)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))
    sys.exit(main())
