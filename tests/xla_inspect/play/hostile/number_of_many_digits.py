#: syntax, loading
value = {{100000 times 9}}

def f(x):
    return x * 2
