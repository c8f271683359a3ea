#: result, loading, limit, crash, output, time
# Half a gigabyte, which must not stay.
with open("much", "wb") as file:
    for _ in range(512):
        file.write(bytes(1 << 20))


def f(x):
    return x * 2
