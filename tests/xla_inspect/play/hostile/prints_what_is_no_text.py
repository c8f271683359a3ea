#: result
import os
import sys

os.write(1, bytes(range(256)))
print("\x1b]0;title\x07\x1b[2J\x00")
sys.stdout.buffer.write(b"\xff\xfe\xed\xa0\x80")
print("\u202e\u2066 turned around", "\U0010ffff")


def f(x):
    return x * 2
