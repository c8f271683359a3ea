"""Files are written atomically, and the least recently used are evicted above a limit."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xla_inspect import store


def age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three entries of four bytes, the alphabetically last the oldest, and an unrelated file."""
    for days, name in enumerate(("a.gz", "b.gz", "c.gz", "mine.txt")):
        (tmp_path / name).write_bytes(b"1234")
        age(tmp_path / name, 86400 * days)
    return tmp_path


def test_a_written_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "entry"
    for data in (b"first", b"second"):
        store.write_whole(path, data)
        assert store.read_stored(path) == data
    assert names(path.parent) == ["entry"]


def test_a_written_file_may_be_read_by_whoever_may_read_others(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    store.write_whole(tmp_path / "entry", b"data")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


@pytest.mark.parametrize("broken", ["write_bytes", "replace"])
def test_an_interrupted_write_leaves_the_old_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path, work = tmp_path / "entry", getattr(Path, broken)
    store.write_whole(path, b"first")

    def interrupt(self: Path, *arguments: object) -> None:
        if broken == "write_bytes":
            work(self, b"sec")
        del arguments
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, broken, interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write_whole(path, b"second")
    assert (names(tmp_path), store.read_stored(path)) == (["entry"], b"first")


def test_an_unreadable_file_gives_none(tmp_path: Path) -> None:
    assert [store.read_stored(tmp_path / "nowhere"), store.read_stored(tmp_path)] == [None, None]


@pytest.mark.parametrize(
    ("limits", "names_left"),
    [
        ({"size": 12}, ["a.gz", "b.gz", "c.gz", "mine.txt"]),
        ({"size": 11}, ["a.gz", "b.gz", "mine.txt"]),
        ({"number": 1}, ["a.gz", "mine.txt"]),
        ({"size": 0}, ["mine.txt"]),
    ],
)
def test_the_oldest_files_are_evicted_down_to_the_limit(
    folder: Path, limits: dict[str, int], names_left: list[str]
) -> None:
    store.evict(folder, "*.gz", **limits)
    assert names(folder) == names_left


def test_a_recently_read_file_stays(folder: Path) -> None:
    store.read_stored(folder / "c.gz")
    store.evict(folder, "*.gz", number=1)
    assert names(folder) == ["c.gz", "mine.txt"]


def test_a_needed_file_stays_and_does_not_count(folder: Path) -> None:
    store.evict(folder, "*.gz", number=1, keep={"c.gz"})
    assert names(folder) == ["a.gz", "c.gz", "mine.txt"]


def test_temporary_files_of_dead_processes_are_removed_and_active_ones_stay(tmp_path: Path) -> None:
    for name, seconds in ((".dead.tmp", store.ABANDONED + 1), (".busy.tmp", 1)):
        (tmp_path / name).write_bytes(b"")
        age(tmp_path / name, seconds)
    store.evict(tmp_path, "*.gz")
    assert names(tmp_path) == [".busy.tmp"]


MAKER = """
import sys, time
from pathlib import Path
from xla_inspect import store

path = Path(sys.argv[1])
with store.Claim(path) as claimed:
    if not path.exists():
        time.sleep(0.3)  # long enough for the others to ask meanwhile
        store.write_whole(path, b"made")
        print("made", flush=True)
    print("waited" if claimed.waited else "first", flush=True)
"""


def test_three_concurrent_processes_create_a_file_once(tmp_path: Path) -> None:
    started = [start(tmp_path / "entry") for _ in range(3)]
    words = " ".join(process.communicate()[0] for process in started).split()
    assert (words.count("made"), names(tmp_path)) == (1, ["entry"])


def test_a_claim_of_a_dead_process_passes_to_the_next(tmp_path: Path) -> None:
    dying = MAKER.replace('store.write_whole(path, b"made")', "os._exit(1)").replace("import sys", "import os, sys")
    start(tmp_path / "entry", dying).communicate()
    assert start(tmp_path / "entry").communicate()[0].split() == ["made", "first"]


def test_waiting_for_a_claim_ends_after_its_timeout(tmp_path: Path) -> None:
    with store.Claim(tmp_path / "entry"):
        begin = time.monotonic()
        with store.Claim(tmp_path / "entry", patience=0.1) as second:
            assert second.waited
            assert 0.1 <= time.monotonic() - begin < 10


def test_a_claim_in_an_unwritable_folder_is_granted_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with store.Claim(tmp_path / "file" / "entry") as claimed:
        assert not claimed.waited


def start(path: Path, code: str = MAKER) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
