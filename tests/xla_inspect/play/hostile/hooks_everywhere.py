#: result, loading, crash, tracing, limit, compiler, time
import sys
import threading


def refuse(*_):
    raise RuntimeError("refused")


sys.excepthook = sys.unraisablehook = threading.excepthook = refuse
sys.addaudithook(refuse)
sys.settrace(refuse)
sys.setprofile(refuse)


def f(x):
    return x * 2
