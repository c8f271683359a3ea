#: crash, time
# It ends, but a copy of it keeps whatever it would have answered by.
import os
import time

if os.fork() == 0:
    os.setsid()
    while True:
        time.sleep(1)
os._exit(0)
