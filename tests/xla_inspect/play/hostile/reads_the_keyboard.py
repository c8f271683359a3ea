#: loading, result
input("What is your name? ")


def f(x):
    return x * 2
