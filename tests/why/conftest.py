"""Fixtures of the tests of the questions."""

import sys
from pathlib import Path

# Tests are found by path and not as a package, so their helpers are found this way.
sys.path.insert(0, str(Path(__file__).parent))
