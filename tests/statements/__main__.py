"""Run the statements of the pages with bare JAX, and print expected and observed results.

python tests/statements                 # all
python tests/statements memory texts    # those of some modules
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import bare

SUBJECTS = sorted(file.stem.removeprefix("of_") for file in Path(__file__).parent.glob("of_*.py"))

if __name__ == "__main__":
    bare.prepare()
    for subject in sys.argv[1:] or SUBJECTS:
        importlib.import_module(f"of_{subject}")
    sys.exit(not bare.try_all(bare.STATEMENTS))
