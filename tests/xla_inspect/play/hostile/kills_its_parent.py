#: result, crash, loading, limit
import os
import signal

try:
    if os.getppid() > 1:
        os.kill(os.getppid(), signal.SIGKILL)
except OSError:
    pass


def f(x):
    return x * 2
