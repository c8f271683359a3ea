"""Find the newest release of JAX and its compilers, pin them, and report what the project makes of them.

    scripts/newest.py pins                   write the pins; print the old and the new version, or nothing
    scripts/newest.py report FOLDER OLD NEW  print a report, in Markdown, from the logs in FOLDER

Needs nothing but uv and the standard library, so that it runs before the environment exists.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WANTED = ("jax[tpu]", "jax-cuda13-plugin[with-cuda]")
"""What is asked for; the pinned packages among what that resolves to move together."""
MOVED = ("jax", "jaxlib", "libtpu", "jax-cuda13-plugin", "nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm")
MOST_LINES = 60
"""The longest excerpt of a log in a report, in lines."""
MOST = 40_000
"""The longest comparison in a report, in characters; the service takes texts of 65,536."""

_FALSE = re.compile(r"^(?:E\s+)?(?:Failed: )?(?P<place>docs/[\w./-]+:\d+): (?P<error>.+)$", re.MULTILINE)


def read_pins(text: str) -> dict[str, str]:
    """Return the version of each of `MOVED` that a `pyproject.toml` pins."""
    pins = {name: re.search(rf'"{re.escape(name)}==([\d.]+)', text) for name in MOVED}
    return {name: found[1] for name, found in pins.items() if found}


def resolve() -> dict[str, str]:
    """Return the newest versions of `MOVED` that can be installed together on Linux x86-64 with Python 3.12.

    Raises:
        subprocess.CalledProcessError: uv could not resolve; its message went to standard error.
    """
    command = [os.environ.get("UV", "uv"), "pip", "compile", "--quiet", "--no-annotate", "--no-header", "-"]
    command += ["--python-version=3.12", "--python-platform=x86_64-manylinux_2_31", "--only-binary=:all:"]
    wanted = "\n".join((*WANTED, "nvidia-cuda-nvdisasm"))
    done = subprocess.run(command, cwd=ROOT.anchor, input=wanted, check=True, text=True, stdout=subprocess.PIPE)
    found = re.findall(r"^([\w-]+)==([\w.]+)", done.stdout, re.MULTILINE)
    return {name: version for name, version in found if name in MOVED}


def move(text: str, versions: dict[str, str]) -> str:
    """Return a `pyproject.toml` that pins these versions."""
    for name, version in versions.items():
        text = re.sub(rf'(?<="{re.escape(name)}==)[\d.]+', version, text)
    return text


def report(folder: Path, old: str, new: str) -> str:
    """Return what a reviewer is to know, in Markdown.

    Args:
        folder: Where the comparison lies, `drift.md`, and the logs, of which any may be missing: `pin.log`,
            `drift.log`, `update.log` and `pages.log`.
        old: The version that was pinned.
        new: The version tried.
    """
    logs = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.log"))}
    false = list(dict.fromkeys(_FALSE.findall(logs.get("pages", ""))))
    parts = [f"JAX {old} is pinned, and {new} is the newest release. This moves the pins and what is made with them."]
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
    """Return the end of a log in a fence that it cannot close."""
    lines = log.strip().splitlines()
    shown = "\n".join(lines[-MOST_LINES:])
    fence = "~" * (max(map(len, re.findall(r"~+", shown)), default=2) + 1)
    left = f"The last {MOST_LINES} of {len(lines)} lines:\n\n" if len(lines) > MOST_LINES else ""
    return f"{left}{fence}text\n{shown}\n{fence}"


def main() -> int:
    """Do what the command line asks for, and return the exit code."""
    if sys.argv[1] == "report":
        print(report(Path(sys.argv[2]), *sys.argv[3:5]), end="")
        return 0
    path = ROOT / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    before, newest = read_pins(text), resolve()
    if before["jax"] == newest["jax"]:
        return 0
    path.write_text(move(text, newest), encoding="utf-8")
    print(before["jax"], newest["jax"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
