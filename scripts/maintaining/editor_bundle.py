"""Make the playground's editor: CodeMirror as one script, from packages of npm, checked against the hash on record.

    scripts/maintaining/editor-bundle                  # unless the script that is on record lies there already
    scripts/maintaining/editor-bundle --if-possible    # where that cannot be made, say so and go on
    scripts/maintaining/editor-bundle --record         # after a change of the versions: record what comes out

The packages stand in `editor_npm/`, with the hash of each. The script and its licences are not tracked: the wheel holds
them, and without them the page has a plain editor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from common import ROOT, say

PINNED = Path(__file__).parent / "editor_npm"
STATIC = ROOT / "snippets" / "xla_inspect" / "play" / "static"
BUNDLE, LICENCES, RECORD = STATIC / "codemirror.js", STATIC / "codemirror.LICENSE.txt", STATIC / "codemirror.toml"
FOLDER = ROOT / ".cache" / "editor"
HEAD = """\
# The playground's editor: what `codemirror.js` beside this file is made of, and what it must come out as.
# Written by `scripts/maintaining/editor-bundle --record`.
"""


class BundleError(Exception):
    """Why the script cannot be made."""


def read_record() -> dict[str, str]:
    """Return the SHA-256 of the script and of its licences, by their names."""
    return dict(tomllib.loads(RECORD.read_text(encoding="utf-8"))["sha256"])


def is_made() -> bool:
    """Return whether both files lie there as they are on record."""
    return all(path.exists() and digest(path.read_bytes()) == read_record()[path.name] for path in (BUNDLE, LICENCES))


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def install() -> Path:
    """Install the packages where that was not done yet, and return their folder.

    Raises:
        BundleError: If neither node nor npm is found, or npm fails.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in PINNED.iterdir():
        shutil.copy(path, FOLDER)
    stamp, lock = FOLDER / "installed-lock.json", (PINNED / "package-lock.json").read_bytes()
    if not stamp.exists() or stamp.read_bytes() != lock:
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        stamp.write_bytes(lock)
    return FOLDER / "node_modules"


def run(program: str, *arguments: str) -> None:
    """Run node or npm in the folder of the packages.

    Raises:
        BundleError: If it is not found, or fails.
    """
    # Beside this Python lies the node that `uv sync` installs.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which(program, path=path)
    if not found:
        reason = f"{program} is not found: run `uv sync`, which installs it"
        raise BundleError(reason)
    command, environment = [found, *arguments], {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=FOLDER, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        reason = f"{program} {arguments[0]} failed (is npm's registry reachable?): {done.stderr[-500:].strip()}"
        raise BundleError(reason)


def bundle(packages: Path) -> tuple[bytes, list[str]]:
    """Return the script, and the names of the packages that it holds.

    Args:
        packages: The folder that they are installed in.
    """
    out, meta = FOLDER / BUNDLE.name, FOLDER / "meta.json"
    form = (
        "--bundle",
        "--minify",
        "--format=iife",
        "--global-name=codeMirror",
        "--target=es2022",
        "--legal-comments=none",
    )
    esbuild = packages / "esbuild" / "bin" / "esbuild"
    run("node", str(esbuild), "entry.mjs", *form, "--charset=utf8", f"--outfile={out}", f"--metafile={meta}")
    inputs = json.loads(meta.read_text(encoding="utf-8"))["inputs"]
    names = {match[1] for path in inputs if (match := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", path))}
    return out.read_bytes(), sorted(names)


def read_package(packages: Path, name: str) -> dict[str, str]:
    """Return what stands of a package in the record: its name, version, licence and where its source is."""
    told = json.loads((packages / name / "package.json").read_text(encoding="utf-8"))
    source = re.sub(r"^git\+|\.git$", "", told["repository"]["url"])
    return {"name": name, "version": told["version"], "licence": told["license"], "source": source}


def collect_licences(packages: Path, names: list[str]) -> bytes:
    """Return the licences of the packages, one after the other."""
    texts = (f"{name}\n\n{(packages / name / 'LICENSE').read_text(encoding='utf-8').strip()}\n" for name in names)
    return ("\n" + "-" * 72 + "\n\n").join(texts).encode()


def record(made: dict[str, bytes], packages: Path, names: list[str]) -> None:
    """Write down what came out, and of what."""
    hashes = "".join(f'"{name}" = "{digest(content)}"\n' for name, content in made.items())
    tables = [read_package(packages, name) for name in [*names, "esbuild"]]
    written = [
        "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        + ("bundled = false\n" if table["name"] == "esbuild" else "")
        for table in tables
    ]
    packed = "".join(f"\n[[package]]\n{table}" for table in written)
    RECORD.write_text(f"{HEAD}\n[sha256]\n{hashes}{packed}", encoding="utf-8", newline="\n")


def make(*, is_new: bool = False) -> None:
    """Make the script and its licences, and write them beside the page.

    Args:
        is_new: Whether what comes out is recorded, and not compared.

    Raises:
        BundleError: If they cannot be made, or come out otherwise than recorded.
    """
    packages = install()
    script, names = bundle(packages)
    made = {BUNDLE.name: script, LICENCES.name: collect_licences(packages, names)}
    if is_new:
        record(made, packages, names)
    if wrong := [name for name, content in made.items() if digest(content) != read_record()[name]]:
        reason = f"{' and '.join(wrong)} came out otherwise than {RECORD.name} says; it is not used"
        raise BundleError(reason)
    for name, content in made.items():
        (STATIC / name).write_bytes(content)
    say(f"made the playground's editor: {BUNDLE.relative_to(ROOT)}, {len(script):,} bytes")


def main() -> int:
    """Make the script, unless it is there; return 1 where it cannot be made and must be."""
    parser = argparse.ArgumentParser(prog="editor_bundle", description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="record what comes out")
    parser.add_argument("--if-possible", action="store_true", help="where it cannot be made, say so and go on")
    options = parser.parse_args()
    try:
        if options.record or not is_made():
            make(is_new=options.record)
    except BundleError as error:
        say(f"the playground's editor cannot be made: {error}. Its page has a plain one instead.", aside=True)
        return 0 if options.if_possible else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
