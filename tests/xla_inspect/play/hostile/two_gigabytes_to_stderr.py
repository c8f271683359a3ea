#: output, result, time, limit
import sys

text = "x" * (1 << 20)
for _ in range(2048):
    sys.stderr.write(text)


def f(x):
    return x * 2
