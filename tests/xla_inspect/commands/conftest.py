"""Commands compile again, independent of the user's cache, and check the installed packages once."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

# Tests are found by path and not as a package, so their helpers are found this way.
sys.path.insert(0, str(Path(__file__).parent))
list_packages = cache(packages_distributions)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.setattr("importlib.metadata.packages_distributions", list_packages)
