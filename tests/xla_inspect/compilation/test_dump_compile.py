"""The temporary folders of dumps, which are removed after compilations and after killed processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest

from xla_inspect import Capture, InspectError, capture
from xla_inspect.analysis import list_kernels
from xla_inspect.compilation import PINNED, dump_compile
from xla_inspect.targets import ENTRIES, TILING_MODEL, find_target

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.dumps import ModuleTexts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no lock that ends with its process")

COMPILE = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp
from xla_inspect import capture
from xla_inspect.compilation import dump_compile
dump_compile.MEMORY = Path(sys.argv[1])
def deep(x):
    for _ in range(400):
        x = jnp.tanh(x @ x) + jnp.sort(x)
    return x
capture(deep, jax.ShapeDtypeStruct((64, 64), jnp.float32))
"""


@pytest.fixture
def parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The two parent folders of dumps, private to this test."""
    folders = [tmp_path / "memory", tmp_path / "disk"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(dump_compile, "MEMORY", folders[0])
    monkeypatch.setattr(dump_compile.tempfile, "tempdir", str(folders[1]))
    return folders


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_dumps_of_a_compile_that_was_killed_are_swept_and_those_of_one_that_lives_are_not(
    parents: list[Path], place: str
) -> None:
    memory, disk = parents
    environment = {**os.environ, "XLA_INSPECT_CACHE": "off", "TMPDIR": str(disk)}
    parent, dump_parent = (memory, memory) if place == "memory" else (disk, memory / "none")
    process = subprocess.Popen([sys.executable, "-c", COMPILE, str(dump_parent)], env=environment)
    deadline = time.monotonic() + 120
    while not (
        folders := [folder for folder in parent.glob(f"{dump_compile.PREFIX}*") if len(list(folder.iterdir())) > 2]
    ):
        assert time.monotonic() < deadline, "it wrote no dumps"
        time.sleep(0.01)
    dump_compile.sweep_dumps()
    assert list(parent.iterdir()) == folders
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(parent.iterdir()) == folders
    dump_compile.sweep_dumps()
    assert list(parent.iterdir()) == []


def test_the_first_compile_of_a_process_sweeps(parents: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    dead = parents[0] / f"{dump_compile.PREFIX}dead"
    dead.mkdir()
    (dead / dump_compile.LOCK).touch()
    dump_compile.sweep_once.cache_clear()
    monkeypatch.setattr(dump_compile, "find_memory", lambda: None)
    capture(jnp.sin, 1.0)
    assert [list(parent.iterdir()) for parent in parents] == [[], []]


def test_a_folder_that_is_not_a_dump_stays(parents: list[Path]) -> None:
    for name in (f"{dump_compile.PREFIX}being_made", "xla_inspect_tpu_logs"):
        (parents[0] / name).mkdir()
        os.utime(parents[0] / name, (0, 0))
    dump_compile.sweep_dumps()
    assert len(list(parents[0].iterdir())) == 2


@pytest.mark.usefixtures("all_targets")
def test_an_out_of_memory_compilation_leaves_a_partial_capture(parents: list[Path]) -> None:
    from programs import buffers

    with pytest.raises(jax.errors.JaxRuntimeError, match="Ran out of memory on HBM") as caught:
        capture(buffers.attend, *buffers.PROGRAMS["attend"][1], target="tpu-v5e")
    failed_capture: Capture = caught.value.capture  # type: ignore[attr-defined]  # added
    assert failed_capture.error == str(caught.value)
    assert (failed_capture.program, failed_capture.target, failed_capture.source_file) == (
        "attend",
        "tpu-v5e",
        "snippets/programs/buffers.py",
    )
    assert failed_capture.module.is_scheduled
    assert [len(failed_capture.runs) > 100, len(failed_capture.passes) > 5, len(list_kernels(failed_capture)) > 0] == [
        True
    ] * 3
    assert failed_capture.memory_report.startswith("Memory Space: default (color=0)\nTotal bytes: ")
    assert "f32[65536,65536]" in failed_capture.memory_report
    assert failed_capture.buffers.startswith("BufferAssignment:")
    assert failed_capture.live_ranges.startswith("HloLiveRange")
    assert failed_capture.sources == {"snippets/programs/buffers.py": failed_capture.source}
    assert Capture.from_json(failed_capture.to_json()) == failed_capture
    assert [list(parent.iterdir()) for parent in parents] == [[], []]


@pytest.mark.usefixtures("all_targets", "folder")
def test_a_program_that_is_out_of_memory_is_compiled_once(compiles: list[str]) -> None:
    from programs import buffers

    errors = []
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="Ran out of memory on HBM") as caught:
            capture(buffers.attend, *buffers.PROGRAMS["attend"][1], target="tpu-v5e")
        errors.append(caught.value)
    assert compiles == ["tpu-v5e"]
    assert str(errors[0]) == str(errors[1])
    assert errors[0].__notes__ == errors[1].__notes__
    first, second = (error.capture for error in errors)  # type: ignore[attr-defined]  # added
    assert first == second.retold(identity=first.identity)


@pytest.mark.usefixtures("all_targets", "folder")
def test_a_compile_that_fails_for_another_reason_is_repeated(
    compiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Any = dump_compile.compile_with_dumps

    def fail(*args: object, **parts: object) -> None:
        run(*args, **parts)
        message = "INTERNAL: the disk is broken"
        raise jax.errors.JaxRuntimeError(message)

    monkeypatch.setattr(dump_compile, "compile_with_dumps", fail)
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="broken") as caught:
            capture(jnp.sin, 1.0)
        assert hasattr(caught.value, "capture")
    assert compiles == ["cpu", "cpu"]


def test_a_compilation_rejected_before_its_start_leaves_no_capture() -> None:
    with pytest.raises(Exception, match="xla_nonsense") as caught:
        capture(jnp.sin, 1.0, options={"xla_nonsense": True})
    assert not hasattr(caught.value, "capture")


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("", "was the disk full, or did another program remove them meanwhile? Run it again"),
        ("--xla_dump_disable_metadata", "does XLA_FLAGS switch dumps off?"),
    ],
    ids=["no flags", "flags"],
)
def test_missing_dumps_are_blamed_on_flags_only_if_there_are_flags(
    flags: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump_folder = dump_compile.read_dump_folder

    def read_none(folder: Path) -> tuple[ModuleTexts, dict[str, float]]:
        for path in folder.glob("module_*"):
            path.unlink()
        return dump_folder(folder)

    monkeypatch.setattr(dump_compile, "read_dump_folder", read_none)
    monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    with pytest.raises(InspectError) as caught:
        capture(lambda x: x * 3.0, jax.ShapeDtypeStruct((5,), jnp.float32))
    assert str(caught.value).endswith(f"the compiler left no dump of '<lambda>'; {name}")


def multiply(x: jax.Array, y: jax.Array) -> jax.Array:
    return x @ y


# For the MI250, the model chooses the first tile of the list.
GRIDS = {
    **{name: (1024, 65_536) for name, entry in ENTRIES.items() if entry.platform == "cuda" and not entry.is_local},
    "mi300x": (2048, 32_768),
    "mi350x": (512, 131_072),
}
"""The numbers of blocks of a matmul: that of the model's tiles, and the least of the first tile on the list."""


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", GRIDS)
def test_the_cost_model_chooses_the_tiles_of_each_gpus_matmuls(target: str) -> None:
    matrix = jax.ShapeDtypeStruct((4096, 4096), jnp.bfloat16)
    program = capture(multiply, matrix, matrix, target=target, passes=False)
    assert program.options == {**PINNED["gpu"], TILING_MODEL: True}
    first = capture(multiply, matrix, matrix, target=target, options={TILING_MODEL: False}, passes=False)
    grids = []
    for executable in (program, first):
        (kernel,) = list_kernels(executable)
        assert kernel.thunk is not None
        assert kernel.thunk.grid is not None
        grids.append(kernel.thunk.grid[0])
    assert grids[0] == GRIDS[target][0]
    assert grids[1] >= GRIDS[target][1]
    assert program.identity != first.identity


@pytest.mark.usefixtures("all_targets")
def test_a_plugin_without_the_option_for_the_cost_model_compiles_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_compile, "knows_gpu_option", lambda *_: False)
    assert dump_compile.pin_options(find_target("h100")) == PINNED["gpu"]
    matrix = jax.ShapeDtypeStruct((512, 512), jnp.bfloat16)
    assert capture(multiply, matrix, matrix, target="h100", passes=False).options == PINNED["gpu"]


def test_the_cost_model_chooses_tiles_only_for_gpus_of_the_table() -> None:
    assert [name for name in ENTRIES if ENTRIES[name].has_tiling_model] == [*GRIDS]
    assert dump_compile.pin_options(find_target("tpu-v5e")) == {}
    assert dump_compile.pin_options(find_target("cpu")) == PINNED["cpu"]
