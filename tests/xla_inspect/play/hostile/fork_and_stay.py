#: result, limit, loading, crash
import os
import time

if os.fork() == 0:
    while True:
        time.sleep(1)


def f(x):
    return x * 2
