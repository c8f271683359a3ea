#: tracing, limit
def f(x):
    raise ValueError("m" * 10_000_000)
