"""Measure what each compiler of `snippets/peers` costs a machine that has none of it, for contributors.

`scripts/peers --costs` starts it. Each is installed into an empty cache of its own, which is removed again, and run.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT
from measuring import peer_runs
from measuring.run_stamp import name_machine, today
from peers import records

if TYPE_CHECKING:
    from collections.abc import Sequence

OUT = ROOT / "docs" / "data" / "peer-costs.json"
_SIZE = re.compile(r"^Downloading \S+ \(([\d.]+)(KiB|MiB|GiB)\)$", re.MULTILINE)
_UNITS = {"KiB": 2**10 / 1e6, "MiB": 2**20 / 1e6, "GiB": 2**30 / 1e6}


class CostError(Exception):
    """A compiler that could not be installed or run here, so that nothing can be measured."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the compilers that the command line names, update the record, and return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/peers --costs", description=__doc__)
    parser.add_argument(
        "peers", nargs="*", metavar="NAME", help=f"some of: {', '.join(records.names())} (default: all)"
    )
    peers = parser.parse_args(arguments).peers or records.names()
    record = stamps.read_sealed(OUT) if OUT.is_file() else {"costs": {}, "versions": {}}
    costs_by_peer, versions, successes = record["costs"], record["versions"], []
    for peer in peers:
        try:
            costs_by_peer[peer] = measure_peer(peer)
        except CostError as error:
            print(f"{peer}: {error}", file=sys.stderr)
            continue
        successes.append(peer)
        print(f"{peer}: {costs_by_peer[peer]}", flush=True)
    costs = {peer: costs_by_peer[peer] for peer in records.names() if peer in costs_by_peer}
    versions.update(map(peer_runs.name_package, successes))
    stamps.write_sealed(OUT, "scripts/peers --costs", versions, {"costs": costs})
    return int(successes != peers)


def measure_peer(peer: str) -> dict[str, Any]:
    """Install a compiler from nothing and run it.

    Returns:
        Megabytes downloaded and on disk, seconds of the installation, processor seconds of the run, date, and machine.

    Raises:
        CostError: The compiler could not be installed, or its script failed.
    """
    script = str(records.FOLDER / peer / records.SCRIPT)
    uv = peer_runs.find_uv()
    with tempfile.TemporaryDirectory() as folder:
        # An empty cache makes uv download everything, as on a machine that has never used the compiler.
        place = {"UV_CACHE_DIR": str(Path(folder) / "cache"), **peer_runs.find_links()}
        start = time.monotonic()
        installed = peer_runs.call(uv, "sync", "--script", script, **place)
        middle, before = time.monotonic(), _processor_seconds()
        if installed.returncode:
            message = f"uv could not install it:\n{peer_runs.indent(installed.stderr)}"
            raise CostError(message)
        python = peer_runs.call(uv, "python", "find", "--script", script, **place).stdout.strip()
        ended = peer_runs.call(python, script, str(Path(folder) / records.RECORD), folder=folder)
        if ended.returncode:
            message = f"its script failed:\n{peer_runs.indent(ended.stderr)}"
            raise CostError(message)
        return {
            "download MB": round(
                sum(float(size) * _UNITS[unit] for size, unit in _SIZE.findall(installed.stderr))
                + sum(wheel.stat().st_size for wheel in list_wheels(script)) / 1e6
            ),
            "disk MB": round(_size(Path(place["UV_CACHE_DIR"])) / 1e6),
            "install seconds": round(middle - start),
            "processor seconds": round(_processor_seconds() - before),
            "date": today(),
            "machine": name_machine(),
        }


def list_wheels(script: str) -> list[Path]:
    """Return the wheels of a script that were already on this machine, which uv does not count as downloads."""
    places = peer_runs.find_links().get("UV_FIND_LINKS", "").split(",")
    text = Path(script).read_text(encoding="utf-8")
    python = re.findall(r'requires-python = "==(\d+)\.(\d+)', text)
    pins = re.findall(r'"([\w.-]+)==([\w.+]+)"', text)
    starts = [
        f"{name.replace('-', '_')}-{version}-cp{major}{minor}-" for name, version in pins for major, minor in python
    ]
    wheels = [wheel for place in places if place for wheel in Path(place).glob("*.whl")]
    return [wheel for wheel in wheels if wheel.name.startswith(tuple(starts))]


def _processor_seconds() -> float:
    """Return the processor seconds of the finished child processes."""
    times = os.times()
    return times.children_user + times.children_system


def _size(folder: Path) -> int:
    """Return the total size of a folder's files in bytes; a file with several hard links counts once."""
    sizes = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            # uv links files from its cache into environments, so one file may have several names.
            stat = path.stat()
            sizes[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(sizes.values())


if __name__ == "__main__":
    sys.exit(main())
