"""Several processes share the capture cache: nobody sees half an entry, and what two ask for is compiled once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from xla_inspect.compilation import capture_cache

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect import Captures

pytestmark = pytest.mark.long("many processes compile the same")

WRITE_FOR_EVER = """
import sys
from importlib import import_module
from pathlib import Path
from xla_inspect.compilation import capture_cache
from xla_inspect.captured.capture import Capture
found = Capture.from_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    capture_cache.store("k", found)
"""

COMPILE_SLOWLY = """
import logging, sys, time
from xla_inspect import capture
from xla_inspect.compilation import dump_compile
compile_with_dumps = dump_compile.compile_with_dumps
def compile_late(*given, **options):
    time.sleep(0.5)
    return compile_with_dumps(*given, **options)
dump_compile.compile_with_dumps = compile_late
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
print("ready", flush=True)
input()
print(len(capture(lambda x: x * 3 + 1, 2.0).after), flush=True)
"""


def test_two_writers_and_a_reader_never_see_half_an_entry(layers: Captures, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "layer.json"
    source.write_text(layers["cpu"].to_json(), encoding="utf-8")
    capture_cache.store("k", layers["cpu"])
    writers = [start_writer(source, 200) for _ in range(2)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        assert capture_cache.load("k") == layers["cpu"]
        seen += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen > 1
    assert [path.name for path in folder.iterdir()] == ["k.gz"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind on Windows")
@pytest.mark.usefixtures("folder")
def test_what_two_processes_ask_for_at_once_is_compiled_once() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", COMPILE_SLOWLY], **pipes) for _ in range(2)]  # type: ignore[call-overload]  # one dict
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[0].splitlines() for process in processes]
    assert sum("compiling" in line for lines in said for line in lines) == 1
    assert said[0][-1] == said[1][-1]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_kill_at_any_moment_leaves_the_entry_whole(
    layers: Captures, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "layer.json"
    source.write_text(layers["cpu"].to_json(), encoding="utf-8")
    capture_cache.store("k", layers["cpu"])
    for delay in (0.0, 0.003, 0.007, 0.012, 0.02):
        writer = start_writer(source, 10**9)
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert capture_cache.load("k") == layers["cpu"]
    abandoned = list(folder.glob("*.tmp"))
    for path in abandoned:
        os.utime(path, (0, 0))
    monkeypatch.setattr(capture_cache, "_written", {})  # as in another process
    capture_cache.store("k", layers["cpu"])
    assert [path.name for path in folder.iterdir()] == ["k.gz"]


def start_writer(source: Path, times: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(source), str(times)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer
