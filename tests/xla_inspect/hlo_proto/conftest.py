"""The path setup of the tests of protos."""

from __future__ import annotations

import sys
from pathlib import Path

# Tests are found by path and not as a package, so their helpers are found this way.
sys.path.insert(0, str(Path(__file__).parent))
