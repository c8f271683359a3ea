"""Say of folders why they hold no finished site; exit code 1 where one does not."""

import sys
from pathlib import Path

from livepage.publish import site_checksum

if __name__ == "__main__":
    problems = [problem for folder in sys.argv[1:] if (problem := site_checksum.check_checksum(Path(folder)))]
    sys.exit("\n".join(problems) or 0)
