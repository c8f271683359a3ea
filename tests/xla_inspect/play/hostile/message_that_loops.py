#: tracing, time, crash
class Mine(Exception):
    def __str__(self):
        while True:
            pass

    __repr__ = __str__


def f(x):
    raise Mine
