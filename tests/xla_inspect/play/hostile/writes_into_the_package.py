#: result, loading
from pathlib import Path

import jax
import xla_inspect

for package in (xla_inspect, jax):
    try:
        (Path(package.__file__).parent / "left_behind_by_play.py").write_text("raise SystemExit")
    except OSError as error:
        print(type(error).__name__)


def f(x):
    return x * 2
