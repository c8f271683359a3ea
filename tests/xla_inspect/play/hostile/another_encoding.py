#: result, syntax, loading
# -*- coding: utf-7 -*-


def f(x):
    return x * 2
