"""Processes share the capture cache without partial entries or duplicate compilations."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long("many processes compile the same")


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


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind on Windows")
@pytest.mark.usefixtures("folder")
def test_a_concurrent_request_of_two_processes_is_compiled_once() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", COMPILE_SLOWLY], **pipes) for _ in range(2)]  # type: ignore[call-overload]  # one dict
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate()[0].splitlines() for process in processes]
    assert sum("compiling" in line for lines in outputs for line in lines) == 1
    assert outputs[0][-1] == outputs[1][-1]
