#: output, result, time, limit
import os


def f(x):
    text = b"x" * (1 << 20)
    for _ in range(2048):
        os.write(1, text)
    return x * 2
