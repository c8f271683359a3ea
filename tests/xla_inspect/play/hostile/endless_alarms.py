#: result, time, crash, tracing, loading
import signal

signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)


def f(x):
    return x * 2
