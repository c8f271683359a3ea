#: result, loading, limit, time, crash
import os

for turn in range(3000):
    with open(f"file_{turn}", "w"):
        pass
deep = "d"
for _ in range(300):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)


def f(x):
    return x * 2
