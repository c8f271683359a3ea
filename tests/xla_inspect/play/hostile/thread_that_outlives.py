#: result, time, crash
import threading
import time


def stay():
    while True:
        time.sleep(0.01)


threading.Thread(target=stay, daemon=False).start()


def f(x):
    return x * 2
