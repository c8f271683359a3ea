#: result, crash, loading, limit, time
import os

os.closerange(0, 4096)


def f(x):
    return x * 2
