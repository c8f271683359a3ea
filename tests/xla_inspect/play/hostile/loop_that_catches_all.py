#: time
# Whatever is raised into the loop, it goes on.
def f(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
