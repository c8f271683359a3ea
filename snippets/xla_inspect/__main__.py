"""`python -m xla_inspect`, the same as `xla-inspect`, for a Python environment whose scripts are not on the path."""

import sys

from xla_inspect.commands import main

if __name__ == "__main__":
    sys.exit(main())
