"""The low-level output of libtpu is collected in a separate process that leaves no files."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jax.numpy as jnp
import pytest

from programs import layer
from xla_inspect import InspectError, capture, jax_private, targets
from xla_inspect.captured import PROGRAM
from xla_inspect.compilation import PREFIX, describe_program, llo_dumps, lowering, sweep_dumps
from xla_inspect.compilation.dump_compile import LOCK, Folder

if TYPE_CHECKING:
    from xla_inspect.captured import LowLevel
    from xla_inspect.jax_private import CompileCall

pytestmark = pytest.mark.usefixtures("all_targets")

GENERATIONS = ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")


@pytest.fixture(scope="module")
def call(all_targets: None) -> CompileCall:  # noqa: ARG001 - a fixture that skips
    """The request that compiles the layer for a TPU v5e."""
    program = describe_program(layer.layer, layer.EXAMPLE, {})
    target = targets.find_target("tpu-v5e")
    with lowering.held_settings(program.project):
        return jax_private.describe_compile(lowering.lower(program, target).place(target), {})


@pytest.mark.parametrize("target", GENERATIONS)
def test_each_generation_gives_its_kernels_with_all_reports(target: str) -> None:
    kernels = capture(layer.layer, *layer.EXAMPLE, target=target, machine=True, passes=False).low_level
    assert [entry.kernel for entry in kernels] == ["fusion", "<late-finalization>", "<late-initialization>", PROGRAM]
    for entry in kernels:
        assert "control target key" in entry.bundles
        assert "== UTILIZATION" in entry.utilization
        assert "total scheduled bundles" in entry.schedule
        assert entry.stages[-1].bundles is not None
    kernel = kernels[0]
    assert "Length to end" in kernel.critical_path
    assert kernel.instructions == ("fusion",)
    assert len(kernel.stages) > 50
    sizes = [stage.instructions for stage in kernel.stages if stage.instructions is not None]
    assert sizes[0] > sizes[-1] > 0
    assert {stage.is_changed for stage in kernel.stages} == {True, False, None}


def test_two_processes_give_the_same_output(call: CompileCall) -> None:
    first, second = llo_dumps.DumpingProcess(llo_dumps.ALL), llo_dumps.DumpingProcess(llo_dumps.ALL)
    executable = first.compile(call, "tpu-v5e")
    assert executable == second.compile(call, "tpu-v5e") == first.compile(call, "tpu-v5e")
    assert len(executable) == 4


def test_the_output_contains_no_time_and_no_machine_name(call: CompileCall) -> None:
    texts = "\n".join(_texts(llo_dumps.DumpingProcess(llo_dumps.ALL).compile(call, "tpu-v5e")))
    # A name as short as `vm` is a word of the listings too.
    assert len(platform.node()) < 4 or platform.node() not in texts
    assert PREFIX not in texts
    assert re.findall(r"\b\d\d:\d\d:\d\d\b|\b\d{19}\b|/(?:home|root|tmp|work)/", texts) == []


def _texts(kernels: tuple[LowLevel, ...]) -> list[str]:
    return [
        text
        for kernel in kernels
        for text in (kernel.bundles, kernel.utilization, kernel.schedule, kernel.critical_path)
    ]


def test_the_folder_is_empty_after_each_compile(call: CompileCall) -> None:
    process = llo_dumps.DumpingProcess(llo_dumps.ALL)
    process.compile(call, "tpu-v5e")
    assert process._folder is not None  # noqa: SLF001 - what no caller may know
    assert [path.name for path in Path(process._folder.name).iterdir()] == [LOCK]  # noqa: SLF001


def test_a_compilation_with_too_much_output_is_ended_and_leaves_no_files(
    call: CompileCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llo_dumps, "INTERVAL", 0.001)
    process = llo_dumps.DumpingProcess(llo_dumps.ALL, limit=1)
    with pytest.raises(llo_dumps.TooLargeError, match="too large"):
        process.compile(call, "tpu-v5e")
    assert process._folder is not None  # noqa: SLF001 - as above
    assert [path.name for path in Path(process._folder.name).iterdir()] == [LOCK]  # noqa: SLF001


def test_a_program_that_is_too_large_keeps_its_finished_kernels(
    call: CompileCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = llo_dumps.collect_low_level(call, "tpu-v5e")
    monkeypatch.setattr(llo_dumps, "INTERVAL", 0.001)
    processes = {
        llo_dumps.ALL: llo_dumps.DumpingProcess(llo_dumps.ALL, limit=1),
        llo_dumps.FINISHED: llo_dumps.DumpingProcess(llo_dumps.FINISHED),
    }
    monkeypatch.setattr(llo_dumps, "_process", processes.get)
    finished = llo_dumps.collect_low_level(call, "tpu-v5e")
    assert _texts(finished) == _texts(everything)
    sizes = {("packed-bundles-post-ra", "final_bundles")}
    assert {tuple(stage.name for stage in kernel.stages) for kernel in finished} == sizes
    assert [[stage for stage in kernel.stages if stage.name in next(iter(sizes))] for kernel in everything] == [
        list(kernel.stages) for kernel in finished
    ]


def test_a_killed_process_is_reported_and_replaced(call: CompileCall) -> None:
    process = llo_dumps.DumpingProcess(llo_dumps.ALL)
    _, child = process._start()  # noqa: SLF001 - as above
    killer = threading.Timer(0.3, child.end)

    def start_and_kill() -> None:
        while child._child is None:  # noqa: SLF001 - as above
            time.sleep(0.01)
        killer.start()

    threading.Thread(target=start_and_kill).start()
    with pytest.raises(InspectError, match="the compiler ended its process while it wrote its programs below HLO"):
        process.compile(call, "tpu-v5e")
    assert process._folder is not None  # noqa: SLF001 - as above
    assert [path.name for path in Path(process._folder.name).iterdir()] == [LOCK]  # noqa: SLF001
    assert len(process.compile(call, "tpu-v5e")) == 4


KILLED = """
import os, signal
from xla_inspect import capture
from programs import layer
from xla_inspect.compilation import llo_dumps
capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False)
print(llo_dumps._process(llo_dumps.ALL)._folder.name, flush=True)
if {killed}:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
@pytest.mark.parametrize("killed", [False, True])
def test_folders_of_ended_and_killed_processes_are_removed(
    killed: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = {**os.environ.copy(), "TMPDIR": str(tmp_path), "XLA_INSPECT_CACHE": "off"}
    command = [sys.executable, "-c", KILLED.format(killed=killed)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    folder = Path(result.stdout.strip())
    assert (folder.name.startswith(PREFIX), folder.exists()) == (True, killed), result.stderr
    assert result.returncode == (-signal.SIGKILL if killed else 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sweep_dumps()
    assert not folder.exists()


def test_files_that_are_still_written_are_waited_for(tmp_path: Path) -> None:
    (tmp_path / "100-TLP-00-original.txt").touch()
    (tmp_path / "100-TLP-02-final_bundles.txt").touch()
    late = threading.Timer(0.3, (tmp_path / "100-TLP-01-critical-path.txt").touch)
    late.start()
    llo_dumps.wait_for_files(tmp_path)
    assert (tmp_path / "100-TLP-01-critical-path.txt").exists()


def test_the_last_attempt_of_a_restarted_compiler_counts(tmp_path: Path) -> None:
    for time_of, text in ((100, "first"), (300, "second")):
        (tmp_path / f"{time_of}-TLP-07-final_bundles.txt").write_text(text, encoding="utf-8")
        (tmp_path / f"{time_of + 5}-all-reduce-12.3-07-final_bundles.txt").write_text(text, encoding="utf-8")
    (tmp_path / "105-gone-07-final_bundles.txt").write_text("first", encoding="utf-8")
    kernels = llo_dumps.read_kernels(tmp_path)
    assert [(kernel.kernel, kernel.bundles) for kernel in kernels] == [
        ("all-reduce-12.3", "second"),
        (PROGRAM, "second"),
    ]


def test_a_folder_without_a_finished_program_has_no_kernels(tmp_path: Path) -> None:
    assert llo_dumps.read_kernels(tmp_path) == ()
    with Folder() as name:
        assert llo_dumps.read_kernels(Path(name)) == ()


@pytest.mark.parametrize("target", ["cpu", "h100"])
def test_other_targets_have_no_low_level_code_and_are_not_compiled_again(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llo_dumps, "collect_low_level", pytest.fail)
    assert capture(jnp.sin, jnp.ones(8), target=target, machine=True, passes=False).low_level == ()


def test_collected_low_level_code_is_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False)
    assert any(folder.iterdir())
    monkeypatch.setattr(llo_dumps, "collect_low_level", pytest.fail)
    assert capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", machine=True, passes=False) == first
    assert capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e", passes=False).low_level == ()
