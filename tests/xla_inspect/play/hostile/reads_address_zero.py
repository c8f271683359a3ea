#: crash
import ctypes


def f(x):
    ctypes.string_at(0)
