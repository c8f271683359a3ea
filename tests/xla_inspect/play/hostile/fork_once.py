#: result, crash, limit, loading
# Both the process and its copy go on, so that there are two of whom each would answer.
import os

os.fork()


def f(x):
    return x * 2
