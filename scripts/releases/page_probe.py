"""The probe that runs pages of the site under an installed release of JAX, and records their failures.

It runs in each release's own environment, with the packages that pages need. If the release has another name for a
private function of JAX that captures use, the function is made available under the expected name first. The remaining
failures are due to the release.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from inspect import getmodule
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

UNKNOWN_DUMP = re.compile(r"No such compile option: '(xla_dump_\w+)'")


def main() -> None:
    """Run the pages of the job in the file that the command line names, and write the result of each."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    os.environ["XLA_INSPECT_CACHE"] = job["cache"]
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    os.chdir(job["root"])
    sys.path[:0] = [str(Path(job["root"]) / folder) for folder in ("snippets", "scripts")]
    from xla_inspect import store
    from xla_inspect.targets import find_target

    figures = Path(job["figures"])
    # Captures then use the GPU figures in the release's own format.
    devices: Any = getmodule(find_target)
    devices.read_spec = lambda target: (figures / f"{target}.txtpb").read_text(encoding="utf-8")
    settle()
    for page, out in job["pages"].items():
        print(json.dumps({"at": page}), flush=True)
        result = probe_page(Path(job["root"]) / page, page, Path(job["root"]))
        store.write_whole(Path(out), json.dumps(result).encode())
        print(json.dumps({"at": ""}), flush=True)


def settle() -> None:
    """Provide the private names that captures expect, and make the release ignore unknown options for dumps."""
    import jax
    import jaxlib

    try:
        from jaxlib import _hlo  # type: ignore[attr-defined]  # noqa: F401 - the import only tests that the module exists
    except ImportError:
        from jaxlib import _jax

        sys.modules["jaxlib._hlo"] = _jax
        jaxlib._hlo = _jax  # type: ignore[attr-defined]  # noqa: SLF001 - the same module by the name it has today
    import jax.extend.core as extended

    if not hasattr(extended, "jaxprs_in_params"):
        from jax._src.core import jaxprs_in_params

        extended.jaxprs_in_params = jaxprs_in_params
    from jax._src.interpreters import mlir

    if not hasattr(mlir, "_thread_local_context"):
        # This release creates a context for each module, without storing one.
        mlir._thread_local_context = SimpleNamespace(value=None, set_local=lambda _: None)  # noqa: SLF001 - as above
    compile_lowered: Callable[..., Any] = jax.stages.Lowered.compile

    # Each attempt removes the one option that the error names, until the release accepts the others.
    def patient(self: jax.stages.Lowered, compiler_options: Any = None, **others: Any) -> Any:  # noqa: ANN401
        options = compiler_options
        while True:
            try:
                return compile_lowered(self, options, **others)
            except Exception as error:
                unknown = UNKNOWN_DUMP.search(str(error))
                if not unknown or unknown[1] not in (options or {}):
                    raise
                options = {name: value for name, value in options.items() if name != unknown[1]}

    jax.stages.Lowered.compile = patient  # type: ignore[method-assign]


def probe_page(path: Path, page: str, root: Path) -> dict[str, Any]:
    """Run a page; return the number of its pieces of each kind, the failed pieces, and the seconds that it took."""
    from livepage import render_one
    from livepage.read import Build

    started, build = time.monotonic(), Build()
    try:
        render_one.render_page(path, root, build)
    except Exception as error:  # noqa: BLE001 - a page that cannot be rendered at all is a result too
        return {"pieces": {}, "failed": [[1, "page", page, f"{type(error).__name__}: {error}"[:300]]], "seconds": 0}
    pieces: dict[str, int] = {}
    failed = []
    for source, outcomes in build.sources.values():
        for piece, outcome in zip(source.pieces, outcomes, strict=True):
            kind = str(piece.kind)
            pieces[kind] = pieces.get(kind, 0) + 1
            if outcome.failure and not outcome.follows:
                failed.append([outcome.failure.origin.line, kind, label_piece(piece), outcome.failure.error[:300]])
            elif outcome.failure or outcome.gap:
                pieces["not run"] = pieces.get("not run", 0) + 1
    return {"pieces": pieces, "failed": failed, "seconds": round(time.monotonic() - started, 1)}


def label_piece(piece: Any) -> str:  # noqa: ANN401 - livepage's own
    """Return a label for a piece: a check's claim, a value's expression, or a block's first line."""
    first = next((line.strip() for line in piece.code.splitlines() if line.strip()), "")
    return str(piece.options.get("check") or first)[:200]
