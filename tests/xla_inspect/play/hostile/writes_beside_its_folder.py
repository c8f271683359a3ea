#: result, loading
# Every folder above its own.
from pathlib import Path

for folder in Path.cwd().parents:
    try:
        (folder / "left_behind_by_play").write_text("left behind")
    except OSError as error:
        print(type(error).__name__)


def f(x):
    return x * 2
