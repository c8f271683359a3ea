#: tracing, crash, memory, time
import sys

sys.setrecursionlimit(10**9)


def f(x):
    return f(x)
