#: tracing, crash, memory, time
import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __repr__(self):
        return repr([self])

    __str__ = __eq__ = __repr__


def f(x):
    return repr(Deep())
