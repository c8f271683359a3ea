"""The command that reports why folders hold no finished site; its exit code is 1 if one of them does not."""

import sys
from pathlib import Path

from livepage.publish import site_checksum

if __name__ == "__main__":
    problems = [problem for folder in sys.argv[1:] if (problem := site_checksum.check_checksum(Path(folder)))]
    sys.exit("\n".join(problems) or 0)
