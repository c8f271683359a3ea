"""How long an edit takes in the playground, beside the bare compile of the same program with JAX alone.

An edit's time ends when the last of the explorer's data is there, and is without the pause after the last key. A bare
compile is traced, lowered and compiled: in a process that has compiled another program before, and in a fresh one.
"""

from __future__ import annotations

import argparse
import inspect
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGETS = ("cpu", "h100", "tpu-v5e")
PAUSE = 0.6
"""Seconds between edits, as a reader types: by then the process for the next one waits for it."""
LIMIT = 1.3
"""How many times the bare compile an edit may take."""


def main(arguments: Sequence[str]) -> int:
    """Measure the gallery's programs, print a line of each, and return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/bench play", description=__doc__)
    parser.add_argument("--only", default="", help="names of programs, with commas between")
    parser.add_argument("--target", default=",".join(TARGETS), help="short names, with commas between")
    parser.add_argument("--no-fresh", action="store_true", help="leave out the compiles in fresh processes")
    asked = parser.parse_args(arguments)
    targets = asked.target.split(",")
    ratios = measure([*filter(None, asked.only.split(","))], targets, fresh=not asked.no_fresh)
    for kind, values in ratios.items():
        if values:
            median = statistics.median(values)
            say(f"edit beside a {kind} bare compile: {median:.2f} times (at most {LIMIT}; the most {max(values):.2f})")
    return 0


def measure(only: list[str], targets: list[str], *, fresh: bool) -> dict[str, list[float]]:
    """Return the ratios of edits to bare compiles, for each program and target, by the kind of bare compile."""
    from xla_inspect.play import Limits, ProcessPool

    place = {"file": "edit.py", "package": "", "paths": [str(ROOT / "snippets")]}
    pool = ProcessPool(Limits(code=60, compile=300), place, ("cpu", "gpu", "tpu"))
    ratios: dict[str, list[float]] = {"warm": [], "fresh": []}
    with subprocess.Popen(
        [sys.executable, "-m", "measuring.play_costs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as bare:
        try:
            for name, request in list_requests(only).items():
                for target in targets:
                    # The first of each warms up what every later one has.
                    if not ratios["warm"]:
                        edit(pool, request, target)
                        ask(bare, name, target)
                    pairs = [(edit(pool, request, target), ask(bare, name, target)) for _ in range(3)]
                    taken, warm = (min(each) for each in zip(*pairs, strict=True))
                    ratios["warm"].append(taken / warm)
                    line = f"{name} for {target}: {taken:.2f} s, bare {warm:.2f} s"
                    if fresh:
                        start = time.perf_counter()
                        command = [sys.executable, "-m", "measuring.play_costs", name, target]
                        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                        ratios["fresh"].append(taken / (time.perf_counter() - start))
                        line += f", fresh {taken / ratios['fresh'][-1]:.2f} s"
                    say(line)
        finally:
            pool.close()
            bare.kill()
    return ratios


def list_requests(only: list[str]) -> dict[str, dict[str, Any]]:
    """Return the gallery's programs as the page sends them; one that is spread over devices has no such form."""
    from programs.gallery import PROGRAMS
    from xla_inspect.play import write_arguments

    requests = {}
    for name, piece in PROGRAMS.items():
        if piece.arguments or (only and name not in only):
            continue
        function = inspect.unwrap(piece.function)
        requests[name] = {
            "code": Path(inspect.getsourcefile(function) or "").read_text(encoding="utf-8"),
            "function": function.__name__,
            "arguments": write_arguments(piece.example, {}, function),
            "options": {},
            "client": "bench",
        }
    return requests


def edit(pool: Any, request: dict[str, Any], target: str) -> float:  # noqa: ANN401 - its module is imported late
    """Return the seconds from an edit to the last of its data."""
    edit.number = getattr(edit, "number", 0) + 1  # type: ignore[attr-defined]  # counted here alone
    number = edit.number  # type: ignore[attr-defined]  # likewise
    code = f"{request['code']}\n# edit {number}\n"
    time.sleep(PAUSE)
    start = time.perf_counter()
    for event in pool.run({**request, "id": str(number), "code": code, "targets": [target]}):
        json.dumps(event)
        if event["event"] == "data" and event["part"] == "whole":
            return time.perf_counter() - start
        if event["event"] == "failed":
            raise RuntimeError(event["failure"]["message"])
    message = "no data came"
    raise RuntimeError(message)


def ask(bare: subprocess.Popen[str], name: str, target: str) -> float:
    """Return the seconds of a bare compile in a process that goes on."""
    if bare.stdin is None or bare.stdout is None:
        raise RuntimeError
    bare.stdin.write(f"{name} {target}\n")
    bare.stdin.flush()
    return float(bare.stdout.readline())


def compile_bare(name: str, target: str) -> float:
    """Trace, lower and compile a program with JAX alone, and return the seconds that it takes."""
    import jax

    from programs.gallery import PROGRAMS
    from xla_inspect.targets import find

    piece = PROGRAMS[name]
    jax.clear_caches()
    device = find(target).devices()[0]
    options = {"xla_gpu_autotune_level": 0} if find(target).kind == "gpu" else None
    place = jax.sharding.SingleDeviceSharding(device)
    start = time.perf_counter()
    jax.jit(piece.function, in_shardings=place, out_shardings=place).lower(*piece.example).compile(options)
    return time.perf_counter() - start


if __name__ == "__main__":
    if sys.argv[1:]:
        compile_bare(*sys.argv[1:3])
    else:
        for line in sys.stdin:
            print(compile_bare(*line.split()), flush=True)
