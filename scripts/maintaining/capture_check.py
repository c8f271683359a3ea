"""The check of fetched captures: pages drawn at random run with an empty cache, and their captures are compared.

`scripts/serve` starts this check in the background with the lowest priority. It begins when the server has all pages,
and ends once a twentieth of the fetched captures has been compiled again, or with the server.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import signal
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import urlopen

from common import ROOT, say
from livepage import build_progress, render_one
from livepage.keep import page_store
from livepage.read import project
from livepage.workers import PageProcess
from maintaining import fetched_captures
from maintaining.capture_sets import SUFFIX
from xla_inspect import folders
from xla_inspect.captured import LATER, unpack
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

SHARE = 1 / 20
"""The share of the fetched captures that is compiled again."""

INTERVAL = 5
"""Seconds between two questions to the server."""

# The fields of a capture that are measured, that describe the compressed parts, or that are replaced on loading by
# those of the program that asks.
_LOCAL = ("times", "parts", "program", "source_file", "source", "sources")
# These passes replace equal objects by one object of the whole process, so whether they change a module depends on what
# the process compiled before.
_SHARING = re.compile(r"(?:literal|shape)-canonicalizer")
# XLA compiles a small loop for the CPU into one kernel, whose arguments are in the order of their addresses.
_UNORDERED = re.compile(r"call(?:\.\d+)?_computation")
# The assembler's report ends with its own time, and a listing may have the path of the clone that made it.
_ELSEWHERE = re.compile(r'(?m)^.*Compile time = .*\n?|(?:/[^/\s"\\]+)+/(?=(?:docs|scripts|snippets)/)')


@dataclass
class Comparison:
    """The result of compiling fetched captures again.

    Attributes:
        compared: The keys of the captures that were compiled again.
        differences: The descriptions of the differences.
        is_whole: Whether the share was reached, or every page has run.
    """

    compared: set[str] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)
    is_whole: bool = True


def read_content(data: bytes) -> dict[str, Any]:
    """Return the content of a file of the cache by field, without what another compilation may produce differently.

    A file that is no capture has only the field `text`.

    Raises:
        ValueError: The data is damaged.
    """
    reader = zlib.decompressobj(wbits=31)
    try:
        text = reader.decompress(data).decode()
        if not (reader.unused_data and text.startswith("{")):
            return {"text": _ELSEWHERE.sub("", gzip.decompress(data).decode())}
        capture = unpack(data)
        later = {name: getattr(capture, name) for names in LATER for name in names}
    except (zlib.error, EOFError, OSError, InspectError, KeyError) as error:
        raise ValueError(str(error)) from error
    head = {name: value for name, value in json.loads(text).items() if name not in _LOCAL}
    later["runs"] = [(run.pipeline, run.name, run.changed and not _SHARING.fullmatch(run.name)) for run in capture.runs]
    later["code"] = [code for code in capture.code if not _UNORDERED.fullmatch(code.kernel)]
    return head | later


def describe_difference(fetched: bytes, compiled: bytes) -> str:
    """Return the name of the program and the fields that differ between two files of one key, or an empty string."""
    try:
        before, after = read_content(fetched), read_content(compiled)
    except ValueError as error:
        return f"a result that cannot be read ({error})"
    if before == after:
        return ""
    if "text" in after:
        return "a log, a listing of machine code, or a count of registers"
    names = [name for name in after | before if name not in before or name not in after or before[name] != after[name]]
    return f"{_read_name(compiled)}: {', '.join(names)}"


def _read_name(data: bytes) -> str:
    capture = unpack(data)
    return f"the program `{capture.program}` for {capture.target}"


def check_captures(
    root: Path,
    cache: Path,
    pages: Collection[str],
    share: float = SHARE,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Comparison:
    """Run pages in random order with an empty cache until a share of the unchecked captures was compiled again.

    At least the same share of the pages runs, so that the chance of each capture is at least the share, wherever it is.

    Args:
        root: The project's folder.
        cache: The cache with the fetched captures.
        pages: The pages that compile programs, by their names relative to the project.
        share: The share of the captures to compile again.
        is_wanted: A function that is asked before each page whether to go on.
    """
    record = fetched_captures.read_record(cache)
    unchecked, result = {*record.unchecked}, Comparison()
    with tempfile.TemporaryDirectory(prefix="captures_", ignore_cleanup_errors=True) as name:
        fresh = Path(name)
        process = PageProcess(root, XLA_INSPECT_CACHE=name, **{page_store.STORE_OFF: "1"})
        try:
            for number, page in enumerate(random.sample(sorted(pages), len(pages))):
                if number >= share * len(pages) and len(result.compared) >= share * len(unchecked):
                    break
                if not is_wanted():
                    result.is_whole = False
                    break
                process.answer(page)
                _compare(cache, fresh, unchecked - result.compared, page, result)
        finally:
            process.popen.kill()
            process.popen.wait()
    return result


def _compare(cache: Path, fresh: Path, keys: Collection[str], page: str, result: Comparison) -> None:
    """Compare the captures that a page has compiled with the fetched ones of the same keys."""
    for path in sorted(fresh.glob(f"*{SUFFIX}")):
        key = path.name.removesuffix(SUFFIX)
        if key not in keys:
            continue
        with suppress(OSError):  # the cache may have dropped the fetched one
            if difference := describe_difference((cache / path.name).read_bytes(), path.read_bytes()):
                result.differences.append(f"{difference} (on {page}, {key[:12]})")
            result.compared.add(key)


def ask_server(address: str) -> float | None:
    """Return the share of the pages that a server has finished, or None if it does not answer."""
    try:
        with urlopen(f"{address}livereload/progress", timeout=INTERVAL) as answer:  # noqa: S310 - our own server
            return float(json.load(answer)["share"])
    except (URLError, OSError, ValueError, KeyError, TypeError):
        return None


def await_pages(address: str) -> bool:
    """Wait until a server has all pages, and return whether it does; false if it ends before that."""
    has_answered = False
    while (share := ask_server(address)) != 1:
        has_answered = has_answered or share is not None
        # The server answers for the first time after the first rendering of all pages.
        if share is None and has_answered:
            return False
        time.sleep(INTERVAL)
    return True


def main(address: str) -> None:
    """Check the fetched captures of the project's cache as soon as a server has all pages, and report differences."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that temporary files are removed
    cache = folders.find_cache()
    if cache is None or not fetched_captures.read_record(cache).unchecked or not await_pages(address):
        return
    render_one.load_project(ROOT)
    paths = (path for suffix in ("md", "py") for path in (ROOT / project.docs).rglob(f"*.{suffix}"))
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    pages = build_progress.expect(names)
    result = check_captures(ROOT, cache, pages, is_wanted=lambda: ask_server(address) is not None)
    for difference in result.differences:
        say(f"{fetched_captures.ALARM}: {difference}. {fetched_captures.REMEDY}", aside=True)
    record = fetched_captures.read_record(cache)
    record.differences += result.differences
    if result.is_whole:  # otherwise the next server starts the check again
        record.unchecked = []
    record.write(cache)
    if result.is_whole and not result.differences:
        say(f"{len(result.compared)} of the fetched captures were compiled again, and none differs")


if __name__ == "__main__":
    main(sys.argv[1])
