"""The capture cache: what hits, what misses, and what nothing can break."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture
from xla_inspect.capture import cache, lowering, targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect import Captures

ROOT = Path(__file__).resolve().parents[2]
WRITE_FOR_EVER = """
import sys
from pathlib import Path
from xla_inspect.capture import cache
from xla_inspect.hlo.record import Capture
found = Capture.from_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    cache.store("k", found)
"""


def double(x: float) -> float:
    return x * 2


@pytest.mark.usefixtures("folder")
def test_a_second_capture_compiles_nothing_and_is_equal(compiles: list[str]) -> None:
    assert capture(double, 1.0) == capture(double, 1.0)
    assert compiles == ["cpu"]


def change_the_program(_: pytest.MonkeyPatch) -> None:
    capture(lambda x: x * 3, 1.0)


def change_the_shape(_: pytest.MonkeyPatch) -> None:
    import jax

    capture(double, jax.ShapeDtypeStruct((2,), "float32"))


def change_an_option(_: pytest.MonkeyPatch) -> None:
    capture(double, 1.0, options={"xla_cpu_enable_fast_math": True})


def change_a_flag_of_the_environment(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    capture(double, 1.0)


def change_a_version(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(targets.Target, "versions", {"jax": "0.0.0"})
    capture(double, 1.0)


def change_the_disassembler(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cache, "find_version", lambda _: "0.0.0")
    capture(double, 1.0)


def change_the_code(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cache, "hash_code", lambda: "other")
    capture(double, 1.0)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "change",
    [
        change_the_program,
        change_the_shape,
        change_an_option,
        change_a_flag_of_the_environment,
        change_a_version,
        change_the_disassembler,
        change_the_code,
    ],
)
def test_a_change_of_what_goes_into_a_compile_misses(
    change: Callable[[pytest.MonkeyPatch], None], compiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(double, 1.0)
    change(monkeypatch)
    assert compiles == ["cpu", "cpu"]


@pytest.mark.usefixtures("all_targets", "folder")
def test_another_target_misses(compiles: list[str]) -> None:
    for target in ("tpu-v5e", "tpu-v5p", "tpu-v5e"):
        capture(double, 1.0, target=target)
    assert compiles == ["tpu-v5e", "tpu-v5p"]


@pytest.mark.usefixtures("folder")
def test_nothing_else_misses(compiles: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    capture(double, 1.0)
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=elsewhere --xla_cpu_max_isa=SSE4_2")
    monkeypatch.chdir(tmp_path)
    assert [capture(double, 7.0) for _ in range(2)] == [capture(double, 1.0)] * 2
    assert compiles == ["cpu"]


@pytest.mark.usefixtures("folder")
def test_a_comment_below_the_program_hits_and_shows_the_new_source(
    compiles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "triple.py"
    monkeypatch.syspath_prepend(tmp_path)
    file.write_text("def triple(x):\n    return x * 3\n", encoding="utf-8")
    import triple  # type: ignore[import-not-found]  # written one line above

    before = capture(triple.triple, 1.0)
    file.write_text("def triple(x):\n    return x * 3\n# more\n", encoding="utf-8")
    after = capture(triple.triple, 1.0)
    assert (compiles, before.source_file, after.source) == (["cpu"], "triple.py", before.source + "# more\n")


def test_the_code_hash_covers_what_makes_a_capture_and_not_what_shows_it() -> None:
    before = cache.hash_code.__wrapped__()
    read = Path.read_bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda self: b"" if self.name == "kernels.py" else read(self))
        assert cache.hash_code.__wrapped__() != before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda self: b"" if "report" in self.parts else read(self))
        assert cache.hash_code.__wrapped__() == before


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"garbage", gzip.compress(b"{}", mtime=0), None])
def test_a_damaged_entry_is_a_miss_and_is_written_anew(damage: bytes | None, folder: Path, compiles: list[str]) -> None:
    good = capture(double, 1.0)
    (entry,) = folder.glob("*.gz")
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert capture(double, 1.0) == good
    assert (compiles, entry.read_bytes()) == (["cpu", "cpu"], whole)


def test_two_writers_and_a_reader_never_see_half_an_entry(layers: Captures, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "layer.json"
    source.write_text(layers["cpu"].to_json(), encoding="utf-8")
    cache.store("k", layers["cpu"])
    writers = [start_writer(source, 200) for _ in range(2)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        assert cache.load("k") == layers["cpu"]
        seen += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen > 1
    assert [path.name for path in folder.iterdir()] == ["k.gz"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_kill_at_any_moment_leaves_the_entry_whole(layers: Captures, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "layer.json"
    source.write_text(layers["cpu"].to_json(), encoding="utf-8")
    cache.store("k", layers["cpu"])
    for delay in (0.0, 0.003, 0.007, 0.012, 0.02):
        writer = start_writer(source, 10**9)
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert cache.load("k") == layers["cpu"]
    abandoned = list(folder.glob("*.tmp"))
    for path in abandoned:
        os.utime(path, (0, 0))
    cache.store("k", layers["cpu"])
    assert [path.name for path in folder.iterdir()] == ["k.gz"]


def start_writer(source: Path, times: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(source), str(times)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def test_what_was_not_used_for_longest_is_evicted(layers: Captures, folder: Path) -> None:
    for age, key in enumerate(("used", "old", "new")):
        cache.store(key, layers["cpu"])
        os.utime(folder / f"{key}.gz", (age + 1, age + 1))
    assert cache.load("used") == layers["cpu"]
    size = (folder / "new.gz").stat().st_size
    cache.evict(folder, 2 * size)
    assert sorted(path.name for path in folder.iterdir()) == ["new.gz", "used.gz"]


def test_the_cache_can_be_switched_off(compiles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    capture(double, 1.0)
    capture(double, 1.0)
    assert (compiles, list(tmp_path.iterdir())) == (["cpu", "cpu"], [])


def test_a_cache_that_cannot_be_written_costs_a_warning_and_not_the_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "file"))
    assert capture(double, 1.0).program == "double"
    assert "XLA_INSPECT_CACHE" in caplog.text


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_the_key_is_made_of_the_text_that_is_compiled(target: str) -> None:
    from programs import transformer_block_grad as program

    described = lowering.describe(program.transformer_block_grad, program.EXAMPLE, {}, {})
    with lowering.settled(described.project):
        first, second = (
            lower(described, targets.find(target)) for lower in (lowering.lower_for_kind, lowering.lower_for_device)
        )
    assert first.stablehlo_locations == second.stablehlo_locations
    assert first.jaxpr == second.jaxpr
