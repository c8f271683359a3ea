#: result, crash, limit, time, loading, memory
# As many copies as it may have, but never more than some hundred in all.
import mmap
import os
import time

count = mmap.mmap(-1, 8)
me = os.getpid()
while int.from_bytes(count[:8], "little") < 200:
    count[:8] = (int.from_bytes(count[:8], "little") + 1).to_bytes(8, "little")
    try:
        os.fork()
    except OSError:
        time.sleep(0.05)
while os.getpid() != me:
    time.sleep(1)


def f(x):
    return x * 2
