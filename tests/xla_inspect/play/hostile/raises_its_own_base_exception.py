#: tracing, crash
class Mine(BaseException):
    pass


def f(x):
    raise Mine("caught by no `except Exception`")
