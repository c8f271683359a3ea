"""The programs from npm that tests run: pinned in npm/, and installed into .cache/node on first use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn, Protocol

import pytest

PINNED = Path(__file__).parent / "npm"
REQUIRED = os.environ.get("REQUIRE_BROWSER", "0") not in {"", "0"}


class RunNode(Protocol):
    """A function that runs a program of the pinned npm packages, by its path in their folder, until its end."""

    def __call__(self, program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]: ...


def prepare(root: Path) -> RunNode:
    """Return a runner of the pinned npm packages, which are installed into .cache/node on first use."""
    here = Path(sys.executable).parent
    outside = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}"}
    node, npm = (shutil.which(name, path=outside["PATH"]) for name in ("node", "npm"))
    if not (node and npm):
        _miss("neither node nor npm found: run `uv sync`, which installs them")
    folder = root / ".cache" / "node"
    stamp = folder / "installed-lock.json"
    folder.mkdir(parents=True, exist_ok=True)
    for path in PINNED.iterdir():
        shutil.copy(path, folder)
    lock = (folder / "package-lock.json").read_bytes()
    if not stamp.exists() or stamp.read_bytes() != lock:
        install = [str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        result = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, env=outside)
        if result.returncode:
            _miss(f"npm packages could not be installed (is the registry reachable?): {result.stderr[-500:]}")
        stamp.write_bytes(lock)

    def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [str(node), str(folder / program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**outside, **environment})

    return run


def _miss(reason: str) -> NoReturn:
    """Skip the test for this reason, or fail it if the browser tests are required."""
    if REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
