"""The timing process of one compiler: it builds and checks the programs, then times those that its parent requests.

Run it as `python -m peers.speeds NAME` in the environment of that compiler's script. The first answer lists the ways
and programs. The process then answers each input line, `[way, program, seconds]` in JSON, with `[calls, seconds]`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

MARK = "\x01"
"""The start of each answer, which distinguishes it from the output of libraries."""

# Every compiler gets one core. The limit must be set before a library is loaded, which may start threads.
os.environ["OMP_NUM_THREADS"] = "1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

from peers import given  # noqa: E402 - after what it must not see otherwise


def main() -> None:
    """Answer requests until the input ends."""
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
        while (elapsed := time.perf_counter() - start) < seconds:
            call()
            count += 1
        answer([count, elapsed])


def answer(content: object) -> None:
    """Print an answer, on one line, for the parent process."""
    sys.stdout.write(f"{MARK}{json.dumps(content)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
