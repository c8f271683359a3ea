#: syntax
def f(x):
        if x is None:
	return x
        return x
