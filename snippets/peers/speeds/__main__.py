"""Build a compiler's programs, check what they compute, then time those that standard input names.

Run as `python -m peers.speeds NAME` in the environment of that compiler's script. The first answer lists what can be
timed; then each line of the input, `[way, program, seconds]` in JSON, is answered by `[calls, seconds]`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

MARK = "\x01"
"""What begins an answer: libraries print what they like."""

# One core for all, whatever a library thinks of threads; before any of them is loaded.
os.environ["OMP_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

from peers import given  # noqa: E402 - after what it must not see otherwise


def main() -> None:
    """Answer until the input ends."""
    ways = importlib.import_module(f"peers.speeds.{sys.argv[1]}").WAYS
    calls = {}
    for way, build in ways.items():
        for program in given.SHAPES:
            call = build(program)
            if call is not None:
                given.check(program, call())
                calls[way, program] = call
    answer(list(calls))
    for line in sys.stdin:
        way, program, seconds = json.loads(line)
        call = calls[way, program]
        call()
        count, start = 0, time.perf_counter()
        while (taken := time.perf_counter() - start) < seconds:
            call()
            count += 1
        answer([count, taken])


def answer(found: object) -> None:
    """Print a line for the driver."""
    sys.stdout.write(f"{MARK}{json.dumps(found)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
