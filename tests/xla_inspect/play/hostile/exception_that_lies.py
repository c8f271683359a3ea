#: tracing, loading, crash
class Mine(Exception):
    @property
    def __class__(self):
        raise RuntimeError

    @property
    def args(self):
        raise RuntimeError

    def __getattribute__(self, name):
        raise RuntimeError(name)


def f(x):
    raise Mine
