#: crash, result, loading, limit
#: alone
# Runs where the server has process numbers of its own, since it kills whatever it can.
import os
import signal

try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass


def f(x):
    return x * 2
