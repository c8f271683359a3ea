#: arguments, loading, tracing, syntax
