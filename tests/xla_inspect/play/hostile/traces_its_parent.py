#: result, loading, crash, limit, time
# As a debugger attaches to a process.
import ctypes
import os

print(ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0))


def f(x):
    return x * 2
