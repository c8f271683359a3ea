#: result, loading
# If the server clears this folder away, it must not follow the links.
import os

os.symlink("{{GUARDED}}", "link")
os.symlink("{{GUARDED}}/kept", "file")
os.symlink("loop", "loop")


def f(x):
    return x * 2
