#: loading, syntax, tracing
# A place that is none.
raise SyntaxError("not from Python", ("elsewhere.py", -5, 10**30, None, "x", -1))
