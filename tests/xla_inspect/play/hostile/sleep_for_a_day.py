#: time
import time


def f(x):
    time.sleep(86_400)
    return x
