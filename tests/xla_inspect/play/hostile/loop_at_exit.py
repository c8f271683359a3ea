#: result, time, crash
# What it registers for its end never ends.
import atexit
import threading


@atexit.register
def stay():
    while True:
        pass


threading._register_atexit(stay)


def f(x):
    return x * 2
