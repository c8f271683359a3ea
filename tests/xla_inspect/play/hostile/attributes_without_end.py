#: syntax, loading, crash, memory
value = a{{100000 times .a}}

def f(x):
    return x * 2
