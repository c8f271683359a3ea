#: tracing, loading, crash
class Mine(Exception):
    def __str__(self):
        raise RuntimeError("no message for you")

    __repr__ = __str__


def f(x):
    raise Mine
