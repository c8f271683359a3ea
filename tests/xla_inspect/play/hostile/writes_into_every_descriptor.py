#: result, crash, loading, limit, output, time
import os

for number in range(256):
    if number != 2:
        try:
            os.set_blocking(number, False)
            os.write(number, b'{"event": "done"}\n\x80\x04\x95garbage\n' * 20)
        except OSError:
            pass


def f(x):
    return x * 2
