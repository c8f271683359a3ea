#: result, crash, limit, loading
# Away from the group, the session, the parent and every file: as a daemon does it.
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 4096)
    while True:
        time.sleep(1)


def f(x):
    return x * 2
