"""The libraries that stand in for ROCm's: what they are, who sees them, and how their last call is known."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile

from xla_inspect.targets import find_plugin
from xla_inspect.targets.rocm_libraries import CALLS, FOLDER, list_symbols, name_call
from xla_inspect.targets.stand_in import Function, write_library

if TYPE_CHECKING:
    from pathlib import Path

CALL = """
import ctypes, os, sys
from xla_inspect.targets import find_plugin
from xla_inspect.targets.rocm_libraries import load_libraries
load_libraries(find_plugin("rocm"))
hip = ctypes.CDLL("libamdhip64.so.7")
hip.hipGetErrorString.restype = ctypes.c_char_p
print(hip.hipInit(0), hip.hipGetErrorString(1).decode(), ctypes.CDLL("librocblas.so.5").rocblas_create_handle(None))
hip.hipGetDeviceCount(None)
"""


@pytest.fixture
def plugin(all_targets: None) -> Path:  # noqa: ARG001 - it skips where there is no plugin
    """The library of the installed plugin."""
    path = find_plugin("rocm")
    assert path
    return path


def run(program: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XLA_INSPECT_CACHE": str(cache)}
    return subprocess.run([sys.executable, "-c", program], env=environment, check=False, capture_output=True, text=True)


def read_segments(data: bytes) -> list[tuple[str, int]]:
    """The kinds and flags (1 for code, 2 for writing, 4 for reading) of a library's segments."""
    return [(segment["p_type"], segment["p_flags"]) for segment in ELFFile(BytesIO(data)).iter_segments()]


def test_a_stand_in_has_no_segment_to_write_and_run_and_names_no_other_library() -> None:
    data = write_library("libhip.so.7", [Function("hipInit", "hip_4.2", 100), Function("name", "", None)], 1)
    assert read_segments(data) == [
        ("PT_LOAD", 4),
        ("PT_LOAD", 5),
        ("PT_LOAD", 6),
        ("PT_LOAD", 4),
        ("PT_DYNAMIC", 6),
        ("PT_GNU_STACK", 6),
    ]
    dynamic = next(segment for segment in ELFFile(BytesIO(data)).iter_segments() if segment["p_type"] == "PT_DYNAMIC")
    kinds = {tag.entry.d_tag for tag in dynamic.iter_tags()}
    assert "DT_SONAME" in kinds
    assert not kinds & {"DT_NEEDED", "DT_RPATH", "DT_RUNPATH", "DT_INIT", "DT_INIT_ARRAY", "DT_TEXTREL"}


def test_each_symbol_that_the_plugin_needs_belongs_to_one_library(plugin: Path) -> None:
    symbols = list_symbols(plugin)
    names = [name for owned in symbols.values() for name, _ in owned]
    assert len(names) == len(set(names))
    assert {name: len(owned) > 0 for name, owned in symbols.items()} == dict.fromkeys(symbols, True)
    assert {name.partition("_")[0] for name, _ in symbols["librocblas.so.5"]} == {"rocblas"}
    assert all(name.startswith("nccl") for name, _ in symbols["librccl.so.1"])
    assert dict(symbols["libamdhip64.so.7"])["hipInit"] == "hip_4.2"


@pytest.mark.usefixtures("all_targets")
def test_functions_report_that_there_is_no_device_and_the_process_notes_its_last_call(tmp_path: Path) -> None:
    end = "from xla_inspect.targets import name_rocm_call; print(name_rocm_call())"
    process = run(CALL + end, tmp_path)
    assert process.stdout.splitlines() == [
        "100 libamdhip64.so.7 -1",
        "hipGetDeviceCount of libamdhip64.so.7",
    ]
    assert process.stderr == ""
    assert not list((tmp_path / FOLDER).glob(CALLS.format(process="*")))


def test_the_last_call_of_a_process_that_crashed_is_known_to_others(
    plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = run(f"{CALL}print(os.getpid(), flush=True); os.abort()", tmp_path)
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path))
    assert process.returncode < 0
    number = int(process.stdout.split()[-1])
    assert name_call(plugin, number) == "hipGetDeviceCount of libamdhip64.so.7"
    assert name_call(plugin, number + 1) == ""


@pytest.mark.usefixtures("all_targets")
def test_a_library_that_somebody_changed_is_written_again(tmp_path: Path) -> None:
    assert run(CALL, tmp_path).returncode == 0
    library = tmp_path / FOLDER / "libMIOpen.so.1"
    data = library.read_bytes()
    library.write_bytes(b"\x7fELF")
    assert run(CALL, tmp_path).returncode == 0
    assert library.read_bytes() == data


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("cache", ["off", "/proc/no/folder"])
def test_without_a_cache_nothing_is_left(cache: str, tmp_path: Path) -> None:
    environment = {**os.environ, "XLA_INSPECT_CACHE": cache, "TMPDIR": str(tmp_path)}
    process = subprocess.run([sys.executable, "-c", CALL], env=environment, check=False, capture_output=True, text=True)
    assert process.stdout.startswith("100 ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("all_targets")
def test_no_other_process_finds_the_libraries(tmp_path: Path) -> None:
    other = "import ctypes; ctypes.CDLL('libamdhip64.so.7')"
    program = f'{CALL}import subprocess; subprocess.run([sys.executable, "-c", "{other}"])'
    assert "libamdhip64.so.7: cannot open shared object file" in run(program, tmp_path).stderr
