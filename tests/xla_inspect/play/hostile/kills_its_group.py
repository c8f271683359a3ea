#: crash
import os
import signal


def f(x):
    os.killpg(0, signal.SIGKILL)
