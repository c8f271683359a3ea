#: result, crash, limit, tracing, time
import os


def f(x):
    os.fork()
    os.fork()
    return x * 2
