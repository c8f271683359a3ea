"""`python -m xla_inspect.commands` is `xla-inspect`."""

import sys

from xla_inspect.commands import main

sys.exit(main())
