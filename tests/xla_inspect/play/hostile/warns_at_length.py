#: result, output, time
import logging
import warnings

for turn in range(200):
    warnings.warn("w" * 50_000 + str(turn), stacklevel=1)
    logging.error("e" * 50_000)


def f(x):
    return x * 2
