#: syntax, loading, crash
# Nesting that Python's own parser gives up on, in one process or another.
value = {{20000 times (}}1{{20000 times )}}

def f(x):
    return x * 2
