"""A search for the PTX line of each line of a GPU's machine code (SASS), by assembling the PTX with a line table."""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import json
import re
import subprocess
import tempfile
import zlib
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import folders, store

if TYPE_CHECKING:
    from collections.abc import Mapping

ARCHITECTURE = re.compile(r"^\.target (sm_\w+)", re.MULTILINE)
MARK = re.compile(r'\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/")
HEADER = "// ptxas: "
TOOLS = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}
SECONDS = 60
KEPT = 256
FORMAT = 1


@lru_cache(maxsize=KEPT)
def trace_sass(ptx: str, sass: str) -> tuple[int, ...]:
    """Return the number of the PTX line for each line of SASS, counted from 1, or 0 for a line that has none.

    The code is assembled a second time, with a line table, which changes no instruction. The result is compared with
    the given SASS line by line. If there is a cache, the lines are stored in it.

    Args:
        ptx: A kernel's PTX.
        sass: Its SASS as `nvdisasm` prints it, after comments with the output of `ptxas`.

    Returns:
        As many numbers as the SASS has lines; an empty tuple if a tool is missing, fails or generates different code.
    """
    architecture = ARCHITECTURE.search(ptx)
    tools = {name: _find(name, package) for name, package in TOOLS.items()}
    if architecture is None or None in tools.values():
        return ()
    path = _locate(ptx, sass)
    # Assembling takes much longer than reading a file, so the lines are stored.
    data = store.read_stored(path) if path else None
    lines = _load(data) if data else None
    if lines is None:
        lines = _trace(ptx, sass, architecture[1], tools)
        if path:
            with suppress(OSError):  # without a writable cache, the next call only takes longer
                store.write_whole(path, gzip.compress(json.dumps(lines).encode(), mtime=0))
    return lines


def _trace(ptx: str, sass: str, architecture: str, tools: Mapping[str, Path | None]) -> tuple[int, ...]:
    with tempfile.TemporaryDirectory(prefix="xla_inspect_") as folder:
        source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx, encoding="utf-8")
        options = ("--generate-line-info", f"--gpu-name={architecture}", f"--output-file={binary}")
        if _run(tools["ptxas"], *options, str(source)) is None:
            return ()
        marked = _run(tools["nvdisasm"], "--print-code", "--print-line-info-ptx", str(binary))
    return read_marks(marked or "", sass)


def read_marks(marked: str, sass: str) -> tuple[int, ...]:
    """Return the number of the PTX line for each line of SASS, or 0, read from the same SASS with line marks.

    The result is an empty tuple if the two differ, or if no line has a mark.
    """
    expected = sass.splitlines()
    head = next((at for at, line in enumerate(expected) if not line.startswith(HEADER)), len(expected))
    texts, lines, current = [], [0] * head, 0
    for text in marked.splitlines():
        if mark := MARK.match(text):
            current = int(mark[1])
            continue
        texts.append(text)
        # A mark applies to the instructions after it, but not to labels and directives.
        lines.append(current if INSTRUCTION.match(text) else 0)
    # If the second assembly generated other code, its line table would be wrong for the given SASS.
    return tuple(lines) if texts == expected[head:] and any(lines) else ()


def _locate(ptx: str, sass: str) -> Path | None:
    """Return the cache file for the lines of a kernel, named after a hash of its inputs, or None without a cache."""
    folder = folders.find_cache()
    versions = [importlib.metadata.version(package) for package in TOOLS.values()]
    # The versions of the tools are part of the key, since another version may generate other code.
    key = hashlib.sha256(json.dumps([FORMAT, ptx, sass, versions]).encode()).hexdigest()
    return folder / f"{key[:32]}.gz" if folder else None


def _load(data: bytes) -> tuple[int, ...] | None:
    """Return the line numbers in the bytes of a cache file, or None if the file is damaged."""
    try:
        return tuple(map(int, json.loads(gzip.decompress(data))))
    # A damaged file only means that the lines are computed again.
    except (OSError, EOFError, zlib.error, ValueError, TypeError):
        return None


@cache
def _find(tool: str, package: str) -> Path | None:
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == tool), None)


def _run(tool: Path | None, *arguments: str) -> str | None:
    """Run a tool and return its standard output, or None if it is missing, fails, or exceeds the time limit."""
    if tool is None:
        return None
    try:
        process = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False, timeout=SECONDS)  # noqa: S603 - a tool of our own requirements
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if process.returncode else process.stdout
