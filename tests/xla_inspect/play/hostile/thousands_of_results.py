#: result, time, limit, tracing, memory
def f(x):
    return [x + turn for turn in range(3000)]
