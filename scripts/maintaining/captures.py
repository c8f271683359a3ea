"""The command that fetches, removes, packs and publishes captures: see `scripts/maintaining/captures`.

Fetching is a convenience: without it, programs are compiled here. So it never fails, and reports an obstacle in one
sentence. What is fetched is data, which is compared with the index by its hash and never executed or unpickled.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from common import ROOT, say
from maintaining import capture_branch, capture_sets, fetched_captures
from maintaining.capture_branch import BranchError
from maintaining.capture_sets import FILES, SUFFIX, CaptureSetError
from xla_inspect import folders, store

PATIENCE = 3600
"""Seconds until the remote is asked again after a request that brought nothing."""


def fetch_captures(root: Path, cache: Path, index: str = "") -> str:
    """Write the published captures that a cache lacks, and return the obstacle as a sentence, or an empty string.

    Args:
        root: The clone.
        cache: The folder of the cache.
        index: The name of the index; by default that of this checkout.
    """
    record = fetched_captures.read_record(cache)
    for difference in record.differences:
        say(f"{fetched_captures.ALARM}: {difference}. {fetched_captures.REMEDY}", aside=True)
    try:
        head = capture_branch.run_git(root, "rev-parse", "HEAD").strip()
        if record.head == head and (record.whole or time.time() - record.asked < PATIENCE):
            return ""
        record.head, record.asked, record.whole = head, time.time(), False
        obstacle = _fetch(root, cache, index, record)
        record.whole = not obstacle
    except (BranchError, CaptureSetError) as error:
        obstacle = f"no published captures are used, and programs are compiled here: {error}"
    except OSError as error:
        return f"no published captures are used: {cache} cannot be written ({error.strerror})"
    with suppress(OSError):
        record.write(cache)
    return obstacle


def _fetch(root: Path, cache: Path, index: str, record: fetched_captures.FetchRecord) -> str:
    """Write the missing captures and list them in the record; return an obstacle or an empty string."""
    remote = capture_branch.find_remote(root)
    commit = capture_branch.find_published(root, remote)
    if commit == record.commit:
        return ""
    if not capture_branch.has_commit(root, commit):
        say(f"fetching compiled captures from {remote} (README.md says what this trusts; CAPTURES=off skips it)")
    damaged = 0
    with capture_branch.opened(root, remote, commit) as tree:
        listing = tree.read(index or capture_sets.name_index())
        if listing is None:
            message = f"the remote {remote} has none for these versions and this code"
            raise BranchError(message)
        for key, digest in capture_sets.read_index(listing).items():
            path = cache / f"{key}{SUFFIX}"
            if path.exists():
                continue
            data = tree.read(f"{FILES}/{digest}")
            if data is None or capture_sets.hash_bytes(data) != digest:
                damaged += 1
                continue
            store.write_whole(path, data)
            record.files[key] = digest
            record.unchecked.append(key)
    if damaged:
        noun = "published capture is" if damaged == 1 else "published captures are"
        return f"{damaged} {noun} damaged and left out: the hash is not that of the index"
    record.commit = commit
    return ""


def forget_captures(root: Path, cache: Path) -> str:
    """Remove the fetched captures from a cache, and the stored pages of a clone, which may depend on them.

    Returns:
        A sentence about the result.
    """
    from livepage.keep import page_store

    keys = fetched_captures.read_record(cache).files
    for key in keys:
        (cache / f"{key}{SUFFIX}").unlink(missing_ok=True)
    (root / page_store.FILE).unlink(missing_ok=True)
    (cache / fetched_captures.NAME).unlink(missing_ok=True)
    return f"{len(keys)} fetched captures are removed, and programs are compiled here"


def pack_captures(cache: Path, folder: Path) -> str:
    """Run all pages, write the captures that they used as a set, and return a sentence about the result.

    Raises:
        CaptureSetError: The cache holds fetched captures.
        subprocess.CalledProcessError: A page fails.
    """
    if fetched_captures.read_record(cache).files:
        message = "the cache holds fetched captures; name another folder in XLA_INSPECT_CACHE, and set CAPTURES=off"
        raise CaptureSetError(message)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="captures_") as site:
        # Reading a capture sets the time of its file, by the clock of the file system.
        mark = Path(tempfile.mkstemp(dir=cache, prefix=".mark-")[1])
        start = mark.stat().st_mtime_ns
        mark.unlink()
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"LIVE": "all"}, check=True)
    captures = [path for path in cache.glob(f"*{SUFFIX}") if path.stat().st_mtime_ns >= start]
    shutil.rmtree(folder, ignore_errors=True)
    capture_sets.write_set(captures, folder, capture_sets.name_index())
    count = capture_sets.check_set(folder)
    size = sum(path.stat().st_size for path in captures) / 1e6
    return f"{folder} holds the {count} captures that the pages use ({size:.0f} MB)"


def publish_captures(root: Path, folder: Path) -> str:
    """Push a set as the branch of captures, and return a sentence about the result.

    Raises:
        CaptureSetError: The folder is not a set.
        BranchError: The set cannot be pushed.
    """
    count = capture_sets.check_set(folder)
    capture_branch.push_folder(root, folder.resolve(), "Publish the captures of the main branch")
    return f"{count} captures are published"


def main() -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/maintaining/captures", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="write the published captures that the cache lacks")
    commands.add_parser("forget", help="remove the fetched captures")
    commands.add_parser("pack", help="run all pages and pack their captures").add_argument("folder", type=Path)
    commands.add_parser("publish", help="push a packed folder").add_argument("folder", type=Path, nargs="?")
    options = parser.parse_args()
    cache = folders.find_cache()
    if options.command == "fetch":
        if cache and (obstacle := fetch_captures(ROOT, cache)):
            say(obstacle)
        return 0
    if cache is None:
        print("scripts/maintaining/captures: XLA_INSPECT_CACHE is off, so there are no captures", file=sys.stderr)
        return 1
    try:
        if options.command == "forget":
            say(forget_captures(ROOT, cache))
            return 0
        with tempfile.TemporaryDirectory(prefix="captures_") as temporary:
            folder = options.folder or Path(temporary) / "set"
            if options.command == "pack" or options.folder is None:
                say(pack_captures(cache, folder))
            if options.command == "publish":
                say(publish_captures(ROOT, folder))
    except (BranchError, CaptureSetError) as error:
        print(f"scripts/maintaining/captures: {options.folder or 'the set'}: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print("scripts/maintaining/captures: the pages fail; MkDocs' message is above", file=sys.stderr)
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
