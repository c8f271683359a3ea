#: memory, crash, tracing, limit
import numpy as np


def f(x):
    return x + sum(np.ones((256 << 20) // 8) for _ in range(20))[0] + np.ones((5 << 30) // 8)[0]
