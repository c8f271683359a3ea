#: result, crash, loading, limit, time
import os
import signal

try:
    if os.getppid() > 1:
        os.kill(os.getppid(), signal.SIGSTOP)
except OSError:
    pass


def f(x):
    return x * 2
