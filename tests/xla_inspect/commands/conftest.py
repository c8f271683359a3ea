"""Commands compile anew, whatever the reader's cache holds."""

import sys
from pathlib import Path

import pytest

# Tests are found by path and not as a package, so their helpers are found this way.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
