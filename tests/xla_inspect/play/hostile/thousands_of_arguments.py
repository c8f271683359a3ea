#: arguments, tracing, limit, result, time
#: arguments MANY


def f(*xs):
    return sum(xs)
