#: result, output, time, limit, crash
import threading


def speak():
    while True:
        print("still here")


threading.Thread(target=speak, daemon=True).start()


def f(x):
    return x * 2
