"""How soon a fresh clone can be read, and is all there, beside the time of a cold build."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from common import say
from measuring.edit_costs import await_text, copy_site, serve

if TYPE_CHECKING:
    from pathlib import Path

HOME, ALL = 0.1, 1.1
"""What is allowed: shares of a cold build, until the home page is shown, and until all of the site is."""


def measure(place: Path, runs: int) -> None:
    """Serve fresh copies of the site, and build others from nothing, and print what each takes."""
    homes, wholes = [], []
    for turn in range(runs):
        copy = place / f"first-{turn}"
        copy_site(copy)
        start = time.perf_counter()
        with serve(copy, copy / ".cache" / "xla_inspect"):
            home = time.perf_counter() - start
            await_text("livereload/progress", '"share": 1', longest=3600)
            whole = time.perf_counter() - start
        shutil.rmtree(copy / ".cache")
        start = time.perf_counter()
        _build(copy)
        cold = time.perf_counter() - start
        shutil.rmtree(copy)
        homes.append(home / cold)
        wholes.append(whole / cold)
        say(f"first start {turn + 1}: home after {home:.1f} s, all after {whole:.1f} s; a cold build {cold:.1f} s")
    say(f"the home page: {statistics.median(homes):.3f} of a cold build (at most {HOME})")
    say(f"all of the site: {statistics.median(wholes):.2f} of a cold build (at most {ALL})")


def _build(copy: Path) -> None:
    folders = os.pathsep.join([str(copy / "snippets"), str(copy / "scripts")])
    cache = str(copy / ".cache" / "xla_inspect")
    environment = {**os.environ, "PYTHONPATH": folders, "XLA_INSPECT_CACHE": cache}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True)
