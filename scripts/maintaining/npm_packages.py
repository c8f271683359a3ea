"""Pinned npm packages: their installation into a folder of `.cache`, and their metadata."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class BundleError(Exception):
    """The reason why a bundle cannot be built from packages."""


def install_packages(pinned: Path, folder: Path) -> Path:
    """Install packages if necessary, and return the folder that contains them.

    Args:
        pinned: The folder with `package.json` and `package-lock.json`, which has the hash of each package.
        folder: The folder of the installation; all files of `pinned` are copied into it.

    Raises:
        BundleError: Node or npm is missing, or npm fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in pinned.iterdir():
        shutil.copy(path, folder)
    stamp, lock = folder / "installed-lock.json", (pinned / "package-lock.json").read_bytes()
    if not stamp.exists() or stamp.read_bytes() != lock:
        run_node(folder, "npm", "ci", f"--cache={folder / 'npm'}", "--ignore-scripts", "--no-audit", "--no-fund")
        stamp.write_bytes(lock)
    return folder / "node_modules"


def run_node(folder: Path, program: str, *arguments: str) -> None:
    """Run node or npm in the folder of packages.

    Raises:
        BundleError: The program is missing, or it fails.
    """
    # `uv sync` installs node next to this Python, so that folder comes first.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    executable = shutil.which(program, path=path)
    if not executable:
        reason = f"{program} is not found: run `uv sync`, which installs it"
        raise BundleError(reason)
    command, environment = [executable, *arguments], {**os.environ, "PATH": path}
    process = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, env=environment)
    if process.returncode:
        reason = f"{program} {arguments[0]} failed (is npm's registry reachable?): {process.stderr[-500:].strip()}"
        raise BundleError(reason)


def read_package(packages: Path, name: str) -> dict[str, str]:
    """Return the metadata of a package: its name, version, license and source address."""
    metadata = json.loads((packages / name / "package.json").read_text(encoding="utf-8"))
    source = re.sub(r"^git\+|\.git$", "", metadata["repository"]["url"])
    return {"name": name, "version": metadata["version"], "licence": metadata["license"], "source": source}


def collect_licences(packages: Path, names: Iterable[str]) -> bytes:
    """Return the licenses of packages as one text."""
    texts = (f"{name}\n\n{(packages / name / 'LICENSE').read_text(encoding='utf-8').strip()}\n" for name in names)
    return ("\n" + "-" * 72 + "\n\n").join(texts).encode()
