#: syntax, loading, crash, result, memory, time
value = {{100000 times 1+}}1

def f(x):
    return x * 2
