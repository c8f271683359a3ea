#: arguments, loading, tracing, syntax
f = 3
