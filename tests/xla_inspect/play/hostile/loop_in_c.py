#: time
# One call of C that comes back to no bytecode, and so to no handler of a signal.
import re


def f(x):
    re.match("(a+)+$", "a" * 64 + "b")
    return x
