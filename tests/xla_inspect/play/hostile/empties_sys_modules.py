#: result, loading, crash, tracing, limit, compiler, time
import sys

sys.modules.clear()


def f(x):
    return x * 2
