#: output, result, time, limit
text = "x" * (1 << 20) + "\n"
for _ in range(2048):
    print(text)


def f(x):
    return x * 2
