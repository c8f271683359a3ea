#: tracing, crash
import sys


def f(x):
    sys.exit("as if all were well")
