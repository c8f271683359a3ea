#: result, loading
import os
import tempfile
from pathlib import Path

for folder in (Path(tempfile.gettempdir()), Path(os.sep, "tmp"), Path("/dev/shm"), Path("/var/tmp")):
    try:
        (folder / "left_behind_by_play").write_text("left behind")
    except OSError as error:
        print(type(error).__name__)


def f(x):
    return x * 2
