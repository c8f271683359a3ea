"""The capture cache: hits, misses and damaged entries."""

from __future__ import annotations

import gzip
import logging
import os
import platform
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pytest

from xla_inspect import capture, targets
from xla_inspect.captured import unpack
from xla_inspect.compilation import capture_cache, compiler_run

# What a capture depends on in other rooms.
BELOW = (
    "xla_inspect.captured.capture",
    "xla_inspect.captured.storage",
    "xla_inspect.hlo.frame_tables",
    "xla_inspect.dumps.thunks",
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from xla_inspect import Captures

ROOM = Path(capture_cache.__file__).parent
PACKAGE = ROOM.parent


def double(x: float) -> float:
    return x * 2


@pytest.mark.usefixtures("folder")
def test_a_second_capture_compiles_nothing_and_is_equal(compiles: list[str]) -> None:
    assert capture(double, 1.0) == capture(double, 1.0)
    assert compiles == ["cpu"]


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "the program": lambda _: capture(lambda x: x * 3, 1.0),
    "the shape": lambda _: capture(double, jax.ShapeDtypeStruct((2,), "float32")),
    "an option": lambda _: capture(double, 1.0, options={"xla_cpu_enable_fast_math": True}),
    "a flag of the environment": lambda patch: patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"),
    "a version": lambda patch: patch.setattr(targets.Target, "versions", {"jax": "0.0.0"}),
    "the disassembler": lambda patch: patch.setattr(capture_cache, "find_version", lambda _: "0.0.0"),
    "the code": lambda patch: patch.setattr(capture_cache, "hash_code", lambda: "other"),
}
"""The differences that a second capture may have: each changes its environment."""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_compilation_input_misses_the_cache(
    change: str, compiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(double, 1.0)
    CHANGES[change](monkeypatch)
    capture(double, 1.0)
    assert compiles == ["cpu", "cpu"]


@pytest.mark.usefixtures("all_targets", "folder")
def test_another_target_misses_the_cache(compiles: list[str]) -> None:
    for target in ("tpu-v5e", "tpu-v5p", "tpu-v5e"):
        capture(double, 1.0, target=target)
    assert compiles == ["tpu-v5e", "tpu-v5p"]


@pytest.mark.usefixtures("folder")
def test_other_changes_hit_the_cache(compiles: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package to change; a hash of its code is asked for with `hash_anew`."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "xla_inspect", ignore=shutil.ignore_patterns("__pycache__")))


def hash_anew(package: Path) -> str:
    return capture_cache.hash_code.__wrapped__(package / ROOM.name)


def change(file: Path, line: str = "CHANGED = True") -> None:
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")


@pytest.mark.parametrize("module", [compiler_run, *map(import_module, BELOW)])
def test_the_key_depends_on_the_code_of_all_packages_that_make_a_capture(package: Path, module: ModuleType) -> None:
    before = hash_anew(package)
    change(package / Path(module.__file__ or "").relative_to(PACKAGE))
    assert hash_anew(package) != before


def test_the_key_changes_with_the_figures_of_a_device(package: Path) -> None:
    before = hash_anew(package)
    [file] = package.rglob("h100.txtpb")
    change(file)
    assert hash_anew(package) != before


@pytest.mark.parametrize("room", ["report", "practice"])
def test_the_key_does_not_depend_on_unrelated_packages(package: Path, room: str) -> None:
    before = hash_anew(package)
    for file in (package / room).rglob("*.py"):
        change(file)
    assert hash_anew(package) == before


def test_the_key_changes_with_a_module_that_a_new_import_brings_in(package: Path) -> None:
    """Nobody lists by hand what compilation imports: a planted import counts by itself."""
    planted = package / "report" / "planted.py"
    planted.write_text("BARS = 1\n", encoding="utf-8")
    change(package / ROOM.name / "object_code.py", "from xla_inspect.report.planted import BARS")
    before = hash_anew(package)
    change(planted)
    assert hash_anew(package) != before


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"garbage", gzip.compress(b"{}", mtime=0), None])
def test_a_damaged_entry_is_a_miss_and_is_rewritten_with_a_warning(
    damage: bytes | None, folder: Path, compiles: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    good = capture(double, 1.0)
    (entry,) = folder.glob("*.gz")
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    caplog.set_level(logging.INFO, "xla_inspect")
    caplog.clear()
    assert capture(double, 1.0) == good
    # What it took is another time.
    assert (compiles, unpack(entry.read_bytes())) == (["cpu", "cpu"], unpack(whole))
    warning, compiling = caplog.messages
    assert warning.startswith(f"{entry.name} of the capture cache is made again: this ")
    assert compiling == "compiling double for cpu"


def test_an_entry_with_another_key_is_a_miss_and_is_rewritten(
    folder: Path, compiles: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    programs: list[Callable[[float], float]] = [double, lambda x: x * 3]
    good = [capture(program, 1.0) for program in programs]
    one, other = folder.glob("*.gz")
    swapped = other.read_bytes(), one.read_bytes()
    one.write_bytes(swapped[0])
    other.write_bytes(swapped[1])
    caplog.set_level(logging.INFO, "xla_inspect")
    assert [capture(program, 1.0) for program in programs] == good
    assert [unpack(entry.read_bytes()) for entry in (one, other)] == [unpack(data) for data in swapped[::-1]]
    assert compiles == ["cpu"] * 4
    warnings = [message for message in caplog.messages if "compiling" not in message]
    assert sorted(warnings) == sorted(
        f"{entry.name} of the capture cache is made again: it holds another capture" for entry in (one, other)
    )


@pytest.mark.parametrize("damage", ["empty", "cut", "swapped"])
def test_a_stored_text_with_another_key_is_recreated_with_a_warning(
    damage: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert [capture_cache.recall_text({"n": n}, lambda n=n: f"text {n}") for n in (1, 2)] == ["text 1", "text 2"]  # type: ignore[misc]  # the idiom for a loop's variable
    one, other = (folder / f"{capture_cache.hash_content({'n': n})}.gz" for n in (1, 2))
    whole = one.read_bytes()
    one.write_bytes({"empty": b"", "cut": whole[:-4], "swapped": other.read_bytes()}[damage])
    caplog.set_level(logging.INFO, "xla_inspect")
    assert [capture_cache.recall_text({"n": 1}, lambda: "text 1") for _ in range(2)] == ["text 1"] * 2
    assert one.read_bytes() == whole
    assert [message.partition(": ")[0] for message in caplog.messages] == [
        f"{one.name} of the capture cache is made again"
    ]


def test_the_least_recently_used_entry_is_evicted(
    layers: Captures, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, key in enumerate(("used", "old", "new")):
        capture_cache.store(key, layers["cpu"])
        os.utime(folder / f"{key}.gz", (age + 1, age + 1))
    assert capture_cache.load_cached("used") == layers["cpu"]
    monkeypatch.setattr(capture_cache, "LIMIT", 3.5 * (folder / "new.gz").stat().st_size)
    capture_cache.store("newest", layers["cpu"])
    assert sorted(path.name for path in folder.iterdir()) == ["new.gz", "newest.gz", "used.gz"]


def test_the_cache_can_be_switched_off(compiles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    capture(double, 1.0)
    capture(double, 1.0)
    assert (compiles, list(tmp_path.iterdir())) == (["cpu", "cpu"], [])


def test_an_unwritable_cache_logs_one_line_and_loses_no_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No warning: the captures are right, and a warning would fail a strict build."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "file"))
    caplog.set_level(logging.INFO, "xla_inspect")
    assert [capture(lambda x, n=n: x * n, 1.0).program for n in (4, 5)] == ["<lambda>"] * 2
    (warning,) = [record for record in caplog.records if "compiling" not in record.message]
    assert (warning.levelname, "set XLA_INSPECT_CACHE" in warning.message) == ("INFO", True)


AFTER_RELOAD = """
import logging, sys
logging.basicConfig(format="%(message)s")
logging.getLogger("xla_inspect").setLevel(logging.INFO)
for _ in range(2):
    import xla_inspect
    from xla_inspect import targets
    before = targets.name_isa()
    found = xla_inspect.capture(lambda x: x + 1, 1.0)
    print(before, targets.name_isa(), found.options["xla_cpu_max_isa"])
    for name in [name for name in sys.modules if name.split(".")[0] == "xla_inspect"]:
        del sys.modules[name]
"""


def test_a_reimported_package_finds_its_compilations(folder: Path) -> None:
    """`mkdocs serve` imports the package again when one of its files is saved."""
    result = subprocess.run([sys.executable, "-c", AFTER_RELOAD], check=True, capture_output=True, text=True)
    isa = "AVX2" if platform.machine().lower() in {"x86_64", "amd64"} else "host"
    assert result.stdout.splitlines() == [f"{isa} {isa} {isa}"] * 2
    assert result.stderr.splitlines() == ["compiling <lambda> for cpu"]
    assert len(list(folder.glob("*.gz"))) == 1
