#: result, time, crash, limit, loading, tracing, memory
import threading
import time


def stay():
    while True:
        time.sleep(1)


for _ in range(400):
    threading.Thread(target=stay, daemon=True).start()


def f(x):
    return x * 2
