#: time
import os
import time

child = os.fork()
if child == 0:
    while True:
        time.sleep(1)
os.waitpid(child, 0)
