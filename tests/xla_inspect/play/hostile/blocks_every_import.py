#: result, loading, crash, tracing, limit, compiler
import sys

sys.path.clear()
sys.meta_path.clear()
sys.path_hooks.clear()
sys.modules["jax"] = sys.modules["numpy"] = None


def f(x):
    return x * 2
