#: tracing, crash
def f(x):
    raise KeyboardInterrupt
