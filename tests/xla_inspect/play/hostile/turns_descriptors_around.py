#: result, crash, loading, limit, time
import os

zero = os.open("/dev/zero", os.O_RDWR)
for number in range(64):
    if number != zero:
        try:
            os.fstat(number)
        except OSError:
            continue
        os.dup2(zero, number)


def f(x):
    return x * 2
