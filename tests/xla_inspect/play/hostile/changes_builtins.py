#: result, loading, crash, tracing, limit, time
import builtins


def f(x):
    for name in ("len", "isinstance", "open", "print", "getattr", "str", "repr", "Exception", "BaseException", "list"):
        setattr(builtins, name, None)
    return x * 2
