#: result, loading
import sys

sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = sys.stdin = None


def f(x):
    print(x)
    return x * 2
