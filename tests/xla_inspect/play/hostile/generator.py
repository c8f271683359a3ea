#: arguments, loading, tracing
def f(x):
    while True:
        yield x
