#: result, loading, crash, tracing, compiler, limit
import os

os.environ.clear()
os.environ["XLA_FLAGS"] = "--xla_no_such_flag=1"
os.environ["JAX_PLATFORMS"] = "no_such_platform"
os.environ["LD_PRELOAD"] = "no_such_library.so"
os.environ["PYTHONSTARTUP"] = os.environ["PYTHONHOME"] = "nowhere"


def f(x):
    return x * 2
