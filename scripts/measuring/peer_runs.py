"""Run the scripts of `snippets/peers`, each in an environment of its own, and compare what they write with the records.

`scripts/peers` starts it, with nothing but uv and the standard library.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import stamps
from common import ROOT, say
from peers import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FAILED, NOT_RUN = 1, 3
RECORDED_ON = ("Linux", "x86_64")
PACKAGES = {
    "iree": "iree-base-compiler",
    "openvino": "onnxruntime-openvino",
    "pytorch_xla": "torchax",
    "tensorflow": "tensorflow-cpu",
    "tvm": "apache-tvm",
}
"""The packages that contain the compilers, if they differ from the name of the compiler's folder."""
LONGEST = 60
"""The largest number of printed lines of a difference."""


class PeerVerdict(StrEnum):
    """The kinds of results for a compiler, each as the text that is printed."""

    AGREES = "agrees with its record"
    UPDATED = "record rewritten"
    DIFFERS = "differs from its record"
    FAILED = "failed"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True)
class PeerOutcome:
    """The result for one compiler: its name, the kind of result, and the reason as text."""

    peer: str
    verdict: PeerVerdict
    why: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the compilers that the command line names, and return the exit status."""
    names = records.names()
    parser = argparse.ArgumentParser(prog="scripts/peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="NAME", help=f"some of: {', '.join(names)} (default: all)")
    parser.add_argument("--update", action="store_true", help="rewrite the records that differ")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="start none after so many seconds")
    parser.add_argument("--list", action="store_true", help="print the names of the compilers, and stop")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.peers) - set(names)):
        parser.error(f"no compiler is named {', '.join(unknown)}; there are {', '.join(names)}")
    if options.list:
        print("\n".join(names))
        return 0
    outcomes = run_all(options.peers or names, update=options.update, within=options.within)
    return report_outcomes(outcomes)


def run_all(peers: Iterable[str], *, update: bool = False, within: float | None = None) -> list[PeerOutcome]:
    """Run compilers one after the other, print the progress, and return the outcome of each, also if it did not start.

    Args:
        peers: The compilers' names.
        update: Whether to rewrite records that differ.
        within: The number of seconds after which no further compiler is started.
    """
    start, outcomes = time.monotonic(), []
    for peer in peers:
        if within is not None and time.monotonic() - start > within:
            outcome = PeerOutcome(peer, PeerVerdict.NOT_RUN, f"the {within:.0f} seconds of --within were over")
        else:
            outcome = check_peer(peer, update=update)
        say(f"{peer}: {outcome.verdict}{': ' if outcome.why else ''}{outcome.why}")
        outcomes.append(outcome)
    return outcomes


def report_outcomes(outcomes: Sequence[PeerOutcome]) -> int:
    """Print a summary of the results, and return the exit status: `FAILED` (also for a difference), `NOT_RUN` or 0."""
    for verdict in PeerVerdict:
        if peers := [outcome.peer for outcome in outcomes if outcome.verdict is verdict]:
            print(f"{verdict}: {', '.join(peers)}")
    verdicts = {outcome.verdict for outcome in outcomes}
    if PeerVerdict.DIFFERS in verdicts:
        print("Where a difference is meant, `scripts/peers NAME --update` rewrites the record.")
    if verdicts & {PeerVerdict.DIFFERS, PeerVerdict.FAILED}:
        return FAILED
    return NOT_RUN if PeerVerdict.NOT_RUN in verdicts else 0


def check_peer(peer: str, *, update: bool = False) -> PeerOutcome:
    """Install a compiler, run its script, and compare its output with the record, which `update` rewrites."""
    # Compilers generate different code for other machines, so their output cannot be compared with the record.
    if (platform.system(), platform.machine()) != RECORDED_ON:
        return PeerOutcome(
            peer, PeerVerdict.NOT_RUN, f"the records are of {' '.join(RECORDED_ON)}, and this is another machine"
        )
    script = records.FOLDER / peer / records.SCRIPT
    if missing := [name for name in (find_uv(), *list_needs(script)) if not shutil.which(name)]:
        return PeerOutcome(peer, PeerVerdict.NOT_RUN, f"it needs {' and '.join(missing)} on PATH")
    say(f"{peer}: installing what {script.relative_to(ROOT)} pins")
    if problem := install_pins(script):
        return PeerOutcome(peer, PeerVerdict.NOT_RUN, f"uv could not install it:\n{indent(problem)}")
    say(f"{peer}: running")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / records.RECORD
        ended = call(find_python(script), str(script), str(out), folder=folder)
        if ended.returncode or not out.is_file():
            end = "\n".join((ended.stdout + ended.stderr).splitlines()[-LONGEST:])
            return PeerOutcome(peer, PeerVerdict.FAILED, f"exit status {ended.returncode}:\n{indent(end)}")
        return compare_record(peer, out.read_text(encoding="utf-8"), update=update)


def install_pins(script: Path) -> str:
    """Install the packages that a script pins; return uv's error output, or an empty string."""
    sync = (find_uv(), "sync", "--quiet", "--script", str(script))
    installed = call(*sync, **find_links())
    # Without a network, uv's cache from an earlier run is sufficient.
    if installed.returncode and call(*sync, "--offline", **find_links()).returncode:
        return installed.stderr
    return ""


def find_python(script: Path) -> str:
    """Return the path of the Python in a script's environment."""
    return call(find_uv(), "python", "find", "--script", str(script)).stdout.strip()


def list_needs(script: Path) -> list[str]:
    """Return the programs that a script requires but uv cannot install: `needs` in its table `[tool.peers]`."""
    block = re.search(r"(?m)^# /// script\n((?:#(?: .*)?\n)+)# ///$", script.read_text(encoding="utf-8"))
    lines = block[1].splitlines() if block else []
    metadata = tomllib.loads("\n".join(line[2:] for line in lines))
    needs: list[str] = metadata.get("tool", {}).get("peers", {}).get("needs", [])
    return needs


def name_package(peer: str) -> tuple[str, str]:
    """Return the package that contains a compiler, and the version that the compiler's script pins."""
    package = PACKAGES.get(peer, peer)
    text = (records.FOLDER / peer / records.SCRIPT).read_text(encoding="utf-8")
    pinned = next(line for line in text.splitlines() if line.startswith(f'#   "{package}=='))
    return package, pinned.split("==")[1].split('"')[0]


def compare_record(peer: str, current: str, *, update: bool = False) -> PeerOutcome:
    """Compare the new record of a script with the stored one, rewrite it with `update`, and return the result."""
    path = records.FOLDER / peer / records.RECORD
    record = path.read_text(encoding="utf-8") if path.is_file() else ""
    if record == current:
        return PeerOutcome(peer, PeerVerdict.AGREES)
    why = "\n" + indent(describe_difference(record, current)) if record else "there was none"
    if update:
        path.write_text(current, encoding="utf-8")
        return PeerOutcome(peer, PeerVerdict.UPDATED, why)
    return PeerOutcome(peer, PeerVerdict.DIFFERS, why if record else "there is none")


def describe_difference(recorded: str, current: str) -> str:
    """Return the differences of two records: sentences about their two hashes, and a line diff of everything else."""
    old, new = (json.loads(text) for text in (recorded, current))
    lines = []
    if old.pop("script", None) != new.pop("script", None):
        lines.append("another script: what decides on the record was changed since it was written")
    if not stamps.is_sealed(json.loads(recorded)):
        lines.append("the record was changed by hand")
    # The hash of the record itself always differs if anything else does, so it says nothing more.
    old.pop("record", None)
    new.pop("record", None)
    before, after = (json.dumps(record, indent=1, ensure_ascii=False).splitlines() for record in (old, new))
    changes = list(difflib.unified_diff(before, after, "record", "now", lineterm="", n=2))
    lines += changes[:LONGEST]
    if len(changes) > LONGEST:
        lines.append(f"... and {len(changes) - LONGEST} lines more")
    return "\n".join(lines)


def find_uv() -> str:
    """Return the uv that `scripts/peers` found, or the one on PATH."""
    return os.environ.get("UV", "uv")


def call(*command: str, folder: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment without settings of this project or its Python.

    Args:
        command: The program and its arguments.
        folder: The folder to run in; the project by default.
        environment: Additional environment variables.
    """
    # A script's own metadata defines its packages, so environments and Python paths of the caller are removed.
    inherited = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV", "UV_PYTHON"}
    }
    # One thread and a fixed hash seed give the same output on any number of cores.
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    # If this Python fits a script, uv does not have to look for another one.
    inherited["PATH"] = os.pathsep.join([str(Path(sys.base_prefix) / "bin"), inherited.get("PATH", os.defpath)])
    inherited |= fixed
    return subprocess.run(
        command, cwd=folder or ROOT, env=inherited | environment, check=False, capture_output=True, text=True
    )


@cache
def find_links() -> dict[str, str]:
    """Return pip's additional locations of wheels, as the environment variable that uv reads.

    Builds that the registry lacks may be there, such as PyTorch for the CPU alone; `UV_FIND_LINKS` has precedence.
    """
    if "UV_FIND_LINKS" in os.environ or not (pip := shutil.which("pip")):
        return {}
    command = [pip, "config", "get"]
    for key in ("global.find-links", ":env:.find-links"):
        answer = subprocess.run([*command, key], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and (places := answer.stdout.split()):
            return {"UV_FIND_LINKS": ",".join(places)}
    return {}


def indent(text: str) -> str:
    """Return a text with every line indented."""
    return "\n".join(f"    {line}" for line in text.strip("\n").splitlines())


if __name__ == "__main__":
    sys.exit(main())
