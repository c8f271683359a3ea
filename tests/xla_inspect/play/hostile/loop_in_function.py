#: time
# Tracing never ends.
def f(x):
    while True:
        x = x + 1 if x is None else x
