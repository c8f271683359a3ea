"""Pinned packages of npm: installed into a folder of `.cache`, and what each says of itself."""

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
    """Why something cannot be made of packages."""


def install_packages(pinned: Path, folder: Path) -> Path:
    """Install packages where that was not done yet, and return the folder that they lie in.

    Args:
        pinned: The folder with `package.json` and `package-lock.json`, which has the hash of each package.
        folder: Where they are installed, with what else lies beside the two files.

    Raises:
        BundleError: If neither node nor npm is found, or npm fails.
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
        BundleError: If it is not found, or fails.
    """
    # Beside this Python lies the node that `uv sync` installs.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(program, path=path)
    if not found:
        reason = f"{program} is not found: run `uv sync`, which installs it"
        raise BundleError(reason)
    command, environment = [found, *arguments], {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        reason = f"{program} {arguments[0]} failed (is npm's registry reachable?): {done.stderr[-500:].strip()}"
        raise BundleError(reason)


def read_package(packages: Path, name: str) -> dict[str, str]:
    """Return what a package says of itself: its name, version, licence and where its source is."""
    told = json.loads((packages / name / "package.json").read_text(encoding="utf-8"))
    source = re.sub(r"^git\+|\.git$", "", told["repository"]["url"])
    return {"name": name, "version": told["version"], "licence": told["license"], "source": source}


def collect_licences(packages: Path, names: Iterable[str]) -> bytes:
    """Return the licences of packages, one after the other."""
    texts = (f"{name}\n\n{(packages / name / 'LICENSE').read_text(encoding='utf-8').strip()}\n" for name in names)
    return ("\n" + "-" * 72 + "\n\n").join(texts).encode()
