#: arguments
#: arguments x: __import__('pathlib').Path('left_behind_by_play').touch()


def f(x):
    return x * 2
