#: loading, limit
raise ValueError("line\n" * 2_000_000)
