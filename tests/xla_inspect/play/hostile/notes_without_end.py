#: loading, limit
error = ValueError("short")
for turn in range(200):
    error.add_note("n" * 100_000)
raise error
