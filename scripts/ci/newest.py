"""The update to the newest releases of JAX and its compilers, with a report on their effects on the project.

    python -m ci.newest pins           write the pins; print a line for each that moved: package, old and new version
    python -m ci.newest report FOLDER  print a report in Markdown, from the moved pins and the logs in FOLDER

Needs only uv and the standard library, so that it runs before the environment exists.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

MOVED = ("jax", "jaxlib", "libtpu", "jax-cuda13-plugin", "jax-rocm7-pjrt", "nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm")
"""The packages whose pins are moved; the first one names the pull request. Each is requested separately, since
`jax[tpu]` would select a libtpu that is older than the newest one, and possibly older than the pin.
"""
EXTRAS = {"jax-cuda13-plugin": "[with-cuda]"}
"""The extras that limit the CUDA packages to versions that match the plugin."""
MOST_LINES = 60
"""The longest excerpt of a log in a report, in lines."""
MOST = 40_000
"""The longest comparison in a report, in characters; GitHub accepts texts of 65,536."""

_FALSE = re.compile(r"^(?:E\s+)?(?:Failed: )?(?P<place>docs/[\w./-]+:\d+): (?P<error>.+)$", re.MULTILINE)


def read_pins(text: str) -> dict[str, str]:
    """Return the version of each package in `MOVED` that a `pyproject.toml` pins."""
    pins = {name: re.search(rf'"{re.escape(name)}==([\d.]+)', text) for name in MOVED}
    return {name: match[1] for name, match in pins.items() if match}


def resolve(pins: Mapping[str, str]) -> dict[str, str]:
    """Return the newest versions of `MOVED` that can be installed together on Linux x86-64 with Python 3.12.

    Args:
        pins: The current versions, which are lower bounds.

    Raises:
        subprocess.CalledProcessError: uv could not resolve the versions; its message is on standard error.
    """
    command = [os.environ.get("UV", "uv"), "pip", "compile", "--quiet", "--no-annotate", "--no-header", "-"]
    command += ["--python-version=3.12", "--python-platform=x86_64-manylinux_2_31", "--only-binary=:all:"]
    command += ["--no-config"]  # the project's own constraints would keep the old versions
    requirements = "\n".join(f"{name}{EXTRAS.get(name, '')}>={pins[name]}" for name in MOVED)
    process = subprocess.run(command, cwd=ROOT, input=requirements, check=True, text=True, stdout=subprocess.PIPE)
    resolved = re.findall(r"^([\w-]+)==([\w.]+)", process.stdout, re.MULTILINE)
    return {name: version for name, version in resolved if name in MOVED}


def list_moved(before: Mapping[str, str], newest: Mapping[str, str]) -> list[str]:
    """Return a line for each package whose version changes: its name, the old version and the new one."""
    return [f"{name} {before[name]} {newest[name]}" for name in MOVED if before[name] != newest[name]]


def move(text: str, versions: Mapping[str, str]) -> str:
    """Return a `pyproject.toml` that pins these versions."""
    for name, version in versions.items():
        text = re.sub(rf'(?<="{re.escape(name)}==)[\d.]+', version, text)
    return text


def report(folder: Path) -> str:
    """Return a report for the reviewer, in Markdown.

    Args:
        folder: The folder with `moved.txt`, the comparison `drift.md`, and the logs `pin.log`, `drift.log`,
            `update.log` and `pages.log`; any of them except `moved.txt` may be missing.
    """
    moved = [line.split() for line in (folder / "moved.txt").read_text(encoding="utf-8").splitlines()]
    news = "\n".join(f"* {name} {old} is pinned, and {new} is the newest release." for name, old, new in moved)
    logs = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.log"))}
    # A test report repeats its failures in the summary, so duplicates are removed in order.
    false = list(dict.fromkeys(_FALSE.findall(logs.get("pages", ""))))
    parts = [f"{news}\n\nThis moves the pins and what is made with them."]
    if false:
        rows = "\n".join(f"| `{place}` | {_cell(error)} |" for place, error in false)
        parts.append(f"## Sentences that became false: {len(false)}\n\n| where | why |\n| --- | --- |\n{rows}")
    else:
        parts.append("## Sentences that became false\n\nNone was found.")
    compared = folder / "drift.md"
    if compared.is_file() and (text := compared.read_text(encoding="utf-8", errors="replace").strip()):
        cut = (
            text
            if len(text) <= MOST
            else text[:MOST].rpartition("\n")[0] + "\n\n*The rest is in the artifact `newest`.*"
        )
        parts.append(f"## What the compiler does differently\n\n{cut}")
    titles = {
        "drift": "How it was measured",
        "update": "The expected outputs",
        "pages": "The pages",
        "pin": "The pins",
    }
    parts += [f"## {title}\n\n{_excerpt(logs[name])}" for name, title in titles.items() if logs.get(name, "").strip()]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


def _excerpt(log: str) -> str:
    """Return the end of a log in a fence that the log cannot close."""
    lines = log.strip().splitlines()
    tail = "\n".join(lines[-MOST_LINES:])
    # The fence is longer than any row of tildes in the log, so that the log cannot close it.
    fence = "~" * (max(map(len, re.findall(r"~+", tail)), default=2) + 1)
    note = f"The last {MOST_LINES} of {len(lines)} lines:\n\n" if len(lines) > MOST_LINES else ""
    return f"{note}{fence}text\n{tail}\n{fence}"


def main() -> int:
    """Run the command that the command line names, and return the exit code."""
    if sys.argv[1] == "report":
        print(report(Path(sys.argv[2])), end="")
        return 0
    path = ROOT / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    before = read_pins(text)
    newest = resolve(before)
    if moved := list_moved(before, newest):
        path.write_text(move(text, newest), encoding="utf-8")
        print(*moved, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
