#: tracing, limit
def f(x):
    return "t" * 5_000_000
