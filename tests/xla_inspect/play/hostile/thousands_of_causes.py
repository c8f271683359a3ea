#: tracing, loading, limit, time
def f(x):
    error = ValueError("first")
    for turn in range(20_000):
        after = ValueError(turn)
        after.__cause__ = error
        error = after
    raise error
