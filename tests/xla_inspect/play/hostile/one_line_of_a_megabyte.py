#: result, syntax, loading
text = "{{900000 times x}}"


def f(x):
    return x * 2
