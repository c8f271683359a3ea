"""The state of the project's git clone: its commit, and whether tracked files differ from it."""

from __future__ import annotations

import os
import subprocess

from livepage.read import project


def run_git(*words: str) -> str:
    """Return the output of a git command in the project's folder, or an empty string if git is missing or fails."""
    # If the clone belongs to another user, git refuses to read it unless the folder is declared safe.
    owned = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(project.root)}
    command = ["git", "-C", str(project.root), *words]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | owned)
    except OSError:
        return ""
    return process.stdout.strip()


def read_state(name: str) -> str:
    """Return the hash and time of the last commit, or "yes" if tracked files have changed since then.

    Outside of a git clone, the result is empty.

    Args:
        name: `commit` for the commit, or `changes` for the changes.
    """
    if name == "commit":
        return run_git("log", "-1", "--format=%H %ct")
    return "yes" if run_git("status", "--porcelain", "--untracked-files=no") else ""
