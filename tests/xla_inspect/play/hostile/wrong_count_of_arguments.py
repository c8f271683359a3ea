#: arguments, tracing
def f(x, y, *, z):
    return x + y + z
