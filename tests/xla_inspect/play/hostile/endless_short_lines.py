#: output, time, limit
while True:
    print(end=".", flush=True)
