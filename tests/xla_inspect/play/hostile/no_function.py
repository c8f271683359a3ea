#: arguments, loading, tracing, syntax
value = 1
