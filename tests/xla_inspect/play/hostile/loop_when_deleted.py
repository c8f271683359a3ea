#: result, time, crash
class Stays:
    def __del__(self):
        while True:
            pass


def f(x):
    Stays()
    return x


kept = Stays()
