"""Time what each compiler of `snippets/peers` makes of the four programs, beside XLA in the same run.

`scripts/peers --bench` starts it. Every compiler is a process of its own on one core; they take turns, stretch by
stretch, and each stretch is divided by XLA's of the same round, so that a machine whose speed drifts slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT, say
from measuring import peer_runs
from measuring.run_stamp import name_processor, today
from peers import given, records
from peers.speeds.__main__ import MARK
from xla_inspect.process import Child

if TYPE_CHECKING:
    from collections.abc import Sequence

OUT = ROOT / "docs" / "data" / "peer-speeds.json"
BASE = "XLA"
SECONDS = 0.1
"""The duration of one timed sequence of calls."""


@dataclass(frozen=True)
class PeerServer:
    """A compiler in a process that times its programs on demand.

    Attributes:
        name: The compiler's module in `peers.speeds`.
        child: The process.
        calls: The ways and programs that it can time.
    """

    name: str
    child: Child
    calls: list[tuple[str, str]]

    def time(self, way: str, program: str) -> float:
        """Return the seconds of one call, averaged over a timed sequence of about `SECONDS`."""
        self.child.send(json.dumps([way, program, SECONDS]))
        count, seconds = listen(self.child)
        return float(seconds / count)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time all compilers, write the record if all could be installed, and return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/peers --bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="how often each takes its turn (default: 21)")
    rounds = parser.parse_args(arguments).rounds
    if not hasattr(os, "sched_setaffinity"):
        print("peers --bench keeps each compiler on one core, which it can do on Linux alone", file=sys.stderr)
        return peer_runs.NOT_RUN
    with tempfile.TemporaryDirectory() as folder:
        servers = [server for name in list_peers() if (server := start(name, folder)) is not None]
        try:
            record = compare_peers(servers, rounds)
        finally:
            for server in servers:
                server.child.end()
    # The record compares all compilers on one machine, so a partial one would mix machines.
    if len(servers) < len(list_peers()):
        print("nothing is written: the figures are of all compilers or of none", file=sys.stderr)
        return peer_runs.NOT_RUN
    versions = dict(name_package(server.name) for server in servers)
    stamps.write_sealed(OUT, "scripts/peers --bench", versions, record)
    say(f"wrote {OUT.relative_to(ROOT)}")
    return 0


def list_peers() -> list[str]:
    """Return the modules of `peers.speeds`, XLA first."""
    files = (records.FOLDER / "speeds").glob("[a-z]*.py")
    return sorted((path.stem for path in files), key=lambda name: (name != "xla", name))


def start(name: str, folder: str) -> PeerServer | None:
    """Start a compiler, which builds and checks its programs; print a message and return None if installing fails."""
    python = sys.executable
    if name != "xla":
        say(f"{name}: installing")
        script = records.FOLDER / name / records.SCRIPT
        problem = peer_runs.install_pins(script)
        if problem:
            say(f"{name}: NOT RUN: {problem}")
            return None
        python = peer_runs.find_python(script)
    say(f"{name}: building and checking the four programs")
    child = Child(
        [python],
        "from peers.speeds.__main__ import main; main()",
        [name],
        variables={**os.environ, "PYTHONPATH": str(ROOT / "snippets"), "PYTHONDONTWRITEBYTECODE": "1"},
        folder=Path(folder),
    )
    return PeerServer(name, child, [(way, program) for way, program in listen(child)])


def listen(child: Child) -> Any:  # noqa: ANN401 - any JSON value
    """Return the next answer of a process.

    Raises:
        RuntimeError: The process ended.
    """
    for line in child:
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    message = f"a compiler ended with status {child.end()}; its last words are above"
    raise RuntimeError(message)


def compare_peers(servers: Sequence[PeerServer], rounds: int) -> dict[str, Any]:
    """Time all compilers in turn; return the record with quartiles of each way's ratio to XLA, and XLA's own times."""
    base = next(server for server in servers if server.name == "xla")
    ratios: dict[str, dict[str, list[float]]] = {program: {} for program in given.SHAPES}
    own: dict[str, list[float]] = {program: [] for program in given.SHAPES}
    for turn in range(rounds):
        for program in given.SHAPES:
            least = base.time(BASE, program)
            own[program].append(least)
            # All compilers take their turn within a round, so that a change of the machine's speed affects all ratios.
            for server in servers:
                for way, of in server.calls:
                    if of == program and server is not base:
                        ratios[program].setdefault(way, []).append(server.time(way, program) / least)
        say(f"round {turn + 1} of {rounds}")
    ways = {way: server.name for server in servers for way, _ in server.calls}
    return {
        "date": today(),
        "machine": f"one core of {name_processor()}",
        "rounds": rounds,
        "packages": {way: name_package(name)[0] for way, name in ways.items()},
        "microseconds": {program: round(statistics.median(times) * 1e6, 1) for program, times in own.items()},
        "ratios": {
            program: {way: quartiles(values) for way, values in by_way.items()} for program, by_way in ratios.items()
        },
    }


def name_package(name: str) -> tuple[str, str]:
    """Return the package of a timed compiler, and its version."""
    return ("jaxlib", metadata.version("jaxlib")) if name == "xla" else peer_runs.name_package(name)


def quartiles(values: Sequence[float]) -> list[float]:
    """Return the lower quartile, the median and the upper quartile, to three significant digits."""
    return [float(f"{value:.3g}") for value in statistics.quantiles(values, n=4, method="inclusive")]


if __name__ == "__main__":
    sys.exit(main())
