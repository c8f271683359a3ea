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
"""What compilers come in, where it is not called as their folder is."""
LONGEST = 60
"""How many lines of a difference are printed."""


class PeerVerdict(StrEnum):
    """What came of one compiler."""

    AGREES = "agrees with its record"
    UPDATED = "record rewritten"
    DIFFERS = "differs from its record"
    FAILED = "failed"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True)
class PeerOutcome:
    """What came of one compiler, and for a reader why."""

    peer: str
    verdict: PeerVerdict
    why: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; return the exit status."""
    known = records.names()
    parser = argparse.ArgumentParser(prog="scripts/peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="NAME", help=f"some of: {', '.join(known)} (default: all)")
    parser.add_argument("--update", action="store_true", help="rewrite the records that differ")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="start none after so many seconds")
    parser.add_argument("--list", action="store_true", help="print the names of the compilers, and stop")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.peers) - set(known)):
        parser.error(f"no compiler is named {', '.join(unknown)}; there are {', '.join(known)}")
    if options.list:
        print("\n".join(known))
        return 0
    outcomes = run_all(options.peers or known, update=options.update, within=options.within)
    return report_outcomes(outcomes)


def run_all(peers: Iterable[str], *, update: bool = False, within: float | None = None) -> list[PeerOutcome]:
    """Run compilers one after the other, saying what happens.

    Args:
        peers: Their names.
        update: Whether to rewrite records that differ.
        within: After how many seconds to start no further one.
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
    """Print what came of all, and return the exit status."""
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
    """Install what a compiler needs, run its script, and compare what it wrote with the record."""
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
    """Install what a script pins; return what uv said if it could not."""
    sync = (find_uv(), "sync", "--quiet", "--script", str(script))
    installed = call(*sync, **find_links())
    # Without a network, what uv kept from last time will do.
    if installed.returncode and call(*sync, "--offline", **find_links()).returncode:
        return installed.stderr
    return ""


def find_python(script: Path) -> str:
    """Return the Python of a script's environment."""
    return call(find_uv(), "python", "find", "--script", str(script)).stdout.strip()


def list_needs(script: Path) -> list[str]:
    """Return the programs that a script calls and uv cannot install: `needs` in its table `[tool.peers]`."""
    block = re.search(r"(?m)^# /// script\n((?:#(?: .*)?\n)+)# ///$", script.read_text(encoding="utf-8"))
    lines = block[1].splitlines() if block else []
    metadata = tomllib.loads("\n".join(line[2:] for line in lines))
    needs: list[str] = metadata.get("tool", {}).get("peers", {}).get("needs", [])
    return needs


def name_package(peer: str) -> tuple[str, str]:
    """Return the package that a compiler comes in, and its version, as its script pins it."""
    package = PACKAGES.get(peer, peer)
    text = (records.FOLDER / peer / records.SCRIPT).read_text(encoding="utf-8")
    pinned = next(line for line in text.splitlines() if line.startswith(f'#   "{package}=='))
    return package, pinned.split("==")[1].split('"')[0]


def compare_record(peer: str, made: str, *, update: bool = False) -> PeerOutcome:
    """Compare the record that a script wrote now with the one beside it, which is rewritten on demand."""
    path = records.FOLDER / peer / records.RECORD
    record = path.read_text(encoding="utf-8") if path.is_file() else ""
    if record == made:
        return PeerOutcome(peer, PeerVerdict.AGREES)
    why = "\n" + indent(describe_difference(record, made)) if record else "there was none"
    if update:
        path.write_text(made, encoding="utf-8")
        return PeerOutcome(peer, PeerVerdict.UPDATED, why)
    return PeerOutcome(peer, PeerVerdict.DIFFERS, why if record else "there is none")


def describe_difference(recorded: str, made: str) -> str:
    """Return how two records differ, for a reader: the two hashes in words, all else as a difference of lines."""
    old, new = (json.loads(text) for text in (recorded, made))
    lines = []
    if old.pop("script", None) != new.pop("script", None):
        lines.append("another script: what decides on the record was changed since it was written")
    if not stamps.is_sealed(json.loads(recorded)):
        lines.append("the record was changed by hand")
    old.pop("record", None)
    new.pop("record", None)
    before, after = (json.dumps(record, indent=1, ensure_ascii=False).splitlines() for record in (old, new))
    changes = list(difflib.unified_diff(before, after, "record", "now", lineterm="", n=2))
    lines += changes[:LONGEST]
    if len(changes) > LONGEST:
        lines.append(f"... and {len(changes) - LONGEST} lines more")
    return "\n".join(lines)


def find_uv() -> str:
    """Return the uv that `scripts/peers` found, or else the one on PATH."""
    return os.environ.get("UV", "uv")


def call(*command: str, folder: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with an environment in which nothing of this project or of its Python is set.

    Args:
        command: The program and its arguments.
        folder: Where to run it, by default in the project.
        environment: What else to set.
    """
    # A script finds its packages by its own metadata: no environment of another project, no Python path of the caller.
    inherited = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV", "UV_PYTHON"}
    }
    # One thread each, and no hash that changes the order of a set: the same output on any number of cores.
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    # Where this Python will do for a script, uv need not look for another.
    inherited["PATH"] = os.pathsep.join([str(Path(sys.base_prefix) / "bin"), inherited.get("PATH", os.defpath)])
    inherited |= fixed
    return subprocess.run(
        command, cwd=folder or ROOT, env=inherited | environment, check=False, capture_output=True, text=True
    )


@cache
def find_links() -> dict[str, str]:
    """Return where pip is set up to look for wheels besides its registry, in uv's words.

    A build that the registry has not, such as PyTorch's for the CPU alone, may lie there; `UV_FIND_LINKS` goes before.
    """
    if "UV_FIND_LINKS" in os.environ or not (pip := shutil.which("pip")):
        return {}
    asked = [pip, "config", "get"]
    for key in ("global.find-links", ":env:.find-links"):
        answer = subprocess.run([*asked, key], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and (places := answer.stdout.split()):
            return {"UV_FIND_LINKS": ",".join(places)}
    return {}


def indent(text: str) -> str:
    """Return a text moved to the right."""
    return "\n".join(f"    {line}" for line in text.strip("\n").splitlines())


if __name__ == "__main__":
    sys.exit(main())
