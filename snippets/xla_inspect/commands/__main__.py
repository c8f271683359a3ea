"""The entry point of `python -m xla_inspect.commands`, which runs `xla-inspect`."""

import sys

from xla_inspect.commands import main

sys.exit(main())
