#: syntax, loading, crash, result, memory
value = {{200000 times -}}1

def f(x):
    return x * 2
