#: result, crash, loading, limit
# Each process above it that belongs to this trial, up to the server itself.
import os
import signal
from pathlib import Path


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


try:
    process = os.getppid()
    while process > 1 and b"{{TRIAL}}" in Path(f"/proc/{process}/environ").read_bytes():
        above = parent_of(process)
        try:
            os.kill(process, signal.SIGTERM)
        except OSError:
            pass
        process = above
except OSError:
    pass


def f(x):
    return x * 2
