"""The runner of the other compilers, and a copy of them to plant mistakes in."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def runner() -> ModuleType:
    """`scripts/peer_runs.py`, as a module."""
    sys.path.insert(0, str(ROOT / "scripts"))
    return importlib.import_module("peer_runs")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A project that holds the runner and the other compilers alone."""
    shutil.copytree(
        ROOT / "snippets" / "peers", tmp_path / "snippets" / "peers", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "peer_runs.py", tmp_path / "scripts")
    return tmp_path
