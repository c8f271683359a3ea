#: tracing, limit
def f(x):
    raise ExceptionGroup("all", [ValueError(turn) for turn in range(50_000)])
