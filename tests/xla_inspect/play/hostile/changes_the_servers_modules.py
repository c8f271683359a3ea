#: result, loading, crash, tracing, limit, time
# Whatever of the playground is in this process does something else from now on.
import importlib
import pkgutil

import xla_inspect.play


def refuse(*_, **__):
    raise RuntimeError("changed")


for found in pkgutil.walk_packages(xla_inspect.play.__path__, "xla_inspect.play."):
    try:
        module = importlib.import_module(found.name)
    except Exception:
        continue
    for name in [*vars(module)]:
        if callable(getattr(module, name)) and not name.startswith("__"):
            setattr(module, name, refuse)


def f(x):
    return x * 2
