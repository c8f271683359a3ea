#: result
import os

os.chdir(os.sep)
os.umask(0o777)


def f(x):
    return x * 2
