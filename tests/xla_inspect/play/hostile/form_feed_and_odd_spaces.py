#: result, syntax

def f(x):
    s = "    "
    return x * 2
