#: result, loading
import os
import pwd
from pathlib import Path

for home in (Path.home(), Path(pwd.getpwuid(os.getuid()).pw_dir)):
    try:
        (home / "left_behind_by_play").write_text("left behind")
    except OSError as error:
        print(type(error).__name__)


def f(x):
    return x * 2
