# -*- coding: no-such-encoding -*-
#: result, syntax, loading


def f(x):
    return x * 2
