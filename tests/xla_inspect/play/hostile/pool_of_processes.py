#: result, time, crash, tracing, limit, loading
import multiprocessing
import time

pool = multiprocessing.get_context("fork").Pool(3)
waits = [pool.apply_async(time.sleep, (86_400,)) for _ in range(3)]


def f(x):
    return x * 2
