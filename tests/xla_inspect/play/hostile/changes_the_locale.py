#: result
import decimal
import locale
import os
import random
import time

for name in ("tr_TR.UTF-8", "de_DE.UTF-8", "C"):
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        pass
os.environ["TZ"] = "Antarctica/Troll"
time.tzset()
random.seed(0)
decimal.getcontext().prec = 1


def f(x):
    return x * 2
