#: result, loading
# As a script would begin that is run by hand; and one of its names is that of a module.
import sys

sys.argv[:] = ["play", "--help"]
__name__ = "__main__"
__file__ = __spec__ = __loader__ = None
if __name__ == "__main__":
    del sys.argv[:]


def f(x):
    return x * 2
