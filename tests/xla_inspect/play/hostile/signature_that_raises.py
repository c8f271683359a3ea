#: arguments, loading, tracing, crash, result
class Callable:
    @property
    def __signature__(self):
        raise RuntimeError("no signature")

    @property
    def __name__(self):
        raise RuntimeError("no name")

    def __call__(self, x):
        return x


f = Callable()
