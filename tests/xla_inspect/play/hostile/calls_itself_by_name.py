#: arguments, loading, tracing, time, crash
class Anything:
    def __getattr__(self, name):
        return self

    def __call__(self, *_, **__):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return self


f = Anything()
