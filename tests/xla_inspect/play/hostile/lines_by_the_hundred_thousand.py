#: result, syntax, loading, time
value = 0
{{150000 times #
}}


def f(x):
    return x * 2
