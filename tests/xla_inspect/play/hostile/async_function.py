#: arguments, loading, tracing
async def f(x):
    return x
