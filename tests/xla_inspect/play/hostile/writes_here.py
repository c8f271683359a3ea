#: result
from pathlib import Path

Path("left_behind_by_play").write_text("in the folder in which it runs")
Path("deep/er").mkdir(parents=True)


def f(x):
    return x * 2
