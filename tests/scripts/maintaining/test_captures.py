"""Published captures reach the cache of another clone, and nothing but what the index lists does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from common import ROOT
from maintaining import capture_branch, capture_sets, captures, fetched_captures
from maintaining.capture_sets import CaptureSetError, hash_bytes

if TYPE_CHECKING:
    from pathlib import Path

INDEX = f"{hash_bytes(b'pins')}.json"
KEYS = [hash_bytes(b"one"), hash_bytes(b"two"), hash_bytes(b"three")[:32]]


def git(folder: Path, *words: str) -> str:
    """Run git as somebody, and return what it prints."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with one commit, whose remote is a bare repository beside it."""
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(tmp_path, "init", "--quiet", "clone")
    folder = tmp_path / "clone"
    (folder / "page.md").write_text("text\n", encoding="utf-8")
    git(folder, "add", "page.md")
    git(folder, "commit", "--quiet", "--message", "Begin")
    git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return folder


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A set of three captures, packed from a cache."""
    cache = tmp_path / "publisher"
    cache.mkdir()
    for key in KEYS:
        (cache / f"{key}.gz").write_bytes(f"the capture {key}".encode())
    capture_sets.write_set(cache.glob("*.gz"), tmp_path / "packed", INDEX)
    return tmp_path / "packed"


@pytest.fixture
def published(clone: Path, packed: Path) -> Path:
    """The clone after the set was published to its remote."""
    assert captures.publish_captures(clone, packed) == "3 captures are published"
    return clone


def fetch(clone: Path, index: str = INDEX) -> tuple[str, dict[str, bytes]]:
    """Fetch into a cache beside a clone; return the sentence and the cached files by key."""
    cache = clone.parent / "cache"
    obstacle = captures.fetch_captures(clone, cache, index)
    return obstacle, {path.stem: path.read_bytes() for path in cache.glob("*.gz")}


def forget_request(clone: Path) -> None:
    """Let the next request ask the remote again, as another commit would."""
    record = fetched_captures.read_record(clone.parent / "cache")
    record.head = ""
    record.write(clone.parent / "cache")


def describe_clone(clone: Path) -> list[str]:
    """Return everything of a clone that a fetch could change: refs, files, settings, and the list of borders."""
    inside = clone / ".git"
    return [
        git(clone, "for-each-ref"),
        git(clone, "status", "--porcelain"),
        (inside / "config").read_text(encoding="utf-8"),
        git(clone, "count-objects", "-v"),
        *sorted(path.name for path in inside.iterdir()),
    ]


def test_a_published_set_arrives_whole_and_the_clone_is_as_before(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = describe_clone(published)
    assert fetch(published) == ("", {key: f"the capture {key}".encode() for key in KEYS})
    assert describe_clone(published) == before
    assert capsys.readouterr().out.count("\n") == 1
    record = fetched_captures.read_record(published.parent / "cache")
    assert record.files == {key: hash_bytes(f"the capture {key}".encode()) for key in KEYS}
    assert sorted(record.unchecked) == sorted(KEYS)


def test_a_second_fetch_for_the_same_commit_asks_nothing(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch(published)
    shutil.rmtree(published.parent / "remote.git")
    capsys.readouterr()
    assert fetch(published)[0] == ""
    assert capsys.readouterr().out == ""


def test_another_commit_of_the_clone_fetches_nothing_twice(
    published: Path, packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch(published)
    git(published, "commit", "--quiet", "--allow-empty", "--message", "Go on")
    capsys.readouterr()
    assert (fetch(published)[0], capsys.readouterr().out) == ("", "")
    forget_request(published)
    (published.parent / "cache" / f"{KEYS[0]}.gz").unlink()
    capture_branch.push_folder(published, packed, "Publish it again")
    assert sorted(fetch(published)[1]) == sorted(KEYS)


def test_a_clone_of_all_branches_reads_its_own_copy(
    published: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(published, "fetch", "--quiet", "origin")
    commands: list[str] = []
    run_git = capture_branch.run_git

    def record(folder: Path, *words: str, limit: float = 9) -> str:
        commands.extend(words)
        return run_git(folder, *words, limit=limit)

    monkeypatch.setattr(capture_branch, "run_git", record)
    obstacle, files = fetch(published)
    assert (obstacle, len(files), capsys.readouterr().out) == ("", 3, "")
    assert ("ls-remote" in commands, "fetch" in commands) == (True, False)


def test_what_the_cache_has_already_is_not_replaced(published: Path) -> None:
    cache = published.parent / "cache"
    cache.mkdir()
    (cache / f"{KEYS[0]}.gz").write_bytes(b"compiled here")
    assert fetch(published)[1][KEYS[0]] == b"compiled here"
    assert KEYS[0] not in fetched_captures.read_record(cache).files


def test_a_file_with_another_hash_is_left_out(clone: Path, packed: Path) -> None:
    digest = capture_sets.read_index((packed / INDEX).read_bytes())[KEYS[1]]
    (packed / "files" / digest).write_bytes(b"something else")
    with pytest.raises(CaptureSetError, match="has another hash"):
        captures.publish_captures(clone, packed)
    capture_branch.push_folder(clone, packed, "Publish it all the same")
    obstacle, files = fetch(clone)
    assert obstacle == "1 published capture is damaged and left out: the hash is not that of the index"
    assert sorted(files) == sorted({*KEYS} - {KEYS[1]})


def test_a_key_that_is_a_path_is_not_written(clone: Path, packed: Path) -> None:
    record = json.loads((packed / INDEX).read_text(encoding="utf-8"))
    record["files"]["../../escaped"] = record["files"].pop(KEYS[0])
    (packed / INDEX).write_text(json.dumps(record), encoding="utf-8")
    capture_branch.push_folder(clone, packed, "Publish it")
    obstacle, files = fetch(clone)
    assert (obstacle.rpartition(": ")[2], files) == ("its index has another format", {})
    assert list(clone.parent.parent.rglob("escaped*")) == []


def test_a_set_for_other_pins_is_not_used(published: Path) -> None:
    obstacle, files = fetch(published, f"{hash_bytes(b'other pins')}.json")
    assert obstacle.endswith("the remote origin has none for these versions and this code")
    assert files == {}


def test_a_remote_without_the_branch_is_reported_in_a_sentence(clone: Path) -> None:
    obstacle, files = fetch(clone)
    assert obstacle.endswith("programs are compiled here: the remote origin has no branch `captures`")
    assert files == {}


def test_a_remote_that_is_gone_is_reported_in_a_sentence_once_an_hour(published: Path) -> None:
    shutil.rmtree(published.parent / "remote.git")
    obstacle, files = fetch(published)
    assert ("programs are compiled here: git ls-remote:" in obstacle, "\n" in obstacle, files) == (True, False, {})
    assert fetch(published)[0] == ""
    record = fetched_captures.read_record(published.parent / "cache")
    record.asked -= captures.PATIENCE
    record.write(published.parent / "cache")
    assert "git ls-remote" in fetch(published)[0]


@pytest.mark.skipif(os.name == "nt", reason="the silent remote is a shell script")
def test_a_remote_that_does_not_answer_is_given_up(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_branch.run_git, "__kwdefaults__", {"limit": 0.5})
    monkeypatch.setenv("GIT_SSH_COMMAND", "sleep 30;")
    git(published, "remote", "set-url", "origin", "ssh://nobody@localhost/nothing")
    start = time.monotonic()
    assert fetch(published)[0].endswith("git needed more than 0 seconds")
    assert time.monotonic() - start < 10


def test_without_a_remote_or_a_clone_programs_are_compiled_here(clone: Path, tmp_path: Path) -> None:
    git(clone, "remote", "remove", "origin")
    assert fetch(clone)[0].endswith("this clone has no remote")
    forget_request(clone)
    (clone / "folder").mkdir()
    cache = clone.parent / "cache"
    assert captures.fetch_captures(clone / "folder", cache, INDEX).endswith("this folder is no clone")
    (tmp_path / "none").mkdir()
    assert "git rev-parse" in captures.fetch_captures(tmp_path / "none", cache, INDEX)


def test_the_branch_has_one_commit_after_two_publications(published: Path, packed: Path) -> None:
    first = git(published, "ls-remote", "origin", capture_branch.BRANCH)
    (packed / INDEX).rename(packed / f"{hash_bytes(b'new pins')}.json")
    captures.publish_captures(published, packed)
    assert git(published, "ls-remote", "origin", capture_branch.BRANCH) != first
    assert git(published.parent / "remote.git", "rev-list", "--count", "captures") == "1"
    assert git(published.parent / "remote.git", "ls-tree", "--name-only", "captures").split() == [
        *sorted([f"{hash_bytes(b'new pins')}.json", "files"])
    ]


def test_fetched_captures_are_removed_and_own_ones_stay(published: Path) -> None:
    fetch(published)
    cache = published.parent / "cache"
    (cache / "own.gz").write_bytes(b"compiled here")
    pages = published / ".cache" / "pages" / "pages.sqlite"
    pages.parent.mkdir(parents=True)
    pages.touch()
    assert captures.forget_captures(published, cache).startswith("3 fetched captures are removed")
    assert ([path.name for path in cache.iterdir()], pages.exists()) == (["own.gz"], False)


def test_fetched_captures_are_not_packed_again(published: Path, tmp_path: Path) -> None:
    fetch(published)
    with pytest.raises(CaptureSetError, match="holds fetched captures"):
        captures.pack_captures(published.parent / "cache", tmp_path / "again")


def test_a_pack_has_what_the_pages_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for key in KEYS[:2]:
        (cache / f"{key}.gz").write_bytes(b"of an earlier build")
        os.utime(cache / f"{key}.gz", (1, 1))

    def build(*_: object, **__: object) -> None:
        (cache / f"{KEYS[0]}.gz").touch()  # read
        (cache / f"{KEYS[2]}.gz").write_bytes(b"new")  # compiled

    monkeypatch.setattr(captures.subprocess, "run", build)
    monkeypatch.setattr(capture_sets, "name_index", lambda: INDEX)
    assert "holds the 2 captures that the pages use" in captures.pack_captures(cache, tmp_path / "set")
    assert capture_sets.check_set(tmp_path / "set") == 2
    assert sorted(capture_sets.read_index((tmp_path / "set" / INDEX).read_bytes())) == sorted([KEYS[0], KEYS[2]])


def test_the_index_is_named_by_the_versions_and_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    monkeypatch.setattr(capture_sets, "ROOT", tmp_path)
    names = []
    for pin in ("jaxlib==0.12.0.1", "jaxlib==0.12.1", "libtpu==0.0.1"):
        name = pin.partition("=")[0]
        lines = [line if f'"{name}==' not in line else f'  "{pin}",' for line in text.splitlines()]
        (tmp_path / "pyproject.toml").write_text(
            text.replace('"jaxlib==0.12.0.1"', f'"{pin}"') if name == "jaxlib" else "\n".join(lines), encoding="utf-8"
        )
        names.append(capture_sets.name_index())
    monkeypatch.setattr("xla_inspect.compilation.capture_cache.hash_code", lambda: "other code")
    assert len({*names, capture_sets.name_index()}) == 4


def run_script(code: str, cache: Path, **variables: str) -> str:
    """Run code after `common.sh`, with a project's Python that only prints its arguments."""
    cache.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name not in {"CAPTURES", "LIVE"}}
    environment |= {"XLA_INSPECT_CACHE": str(cache), **variables}
    command = f'set -euo pipefail; . scripts/common.sh; in_project() {{ echo "$@"; }}; {code}'
    result = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


@pytest.mark.skipif(os.name == "nt", reason="the scripts do not run on Windows")
def test_a_variable_switches_fetching_off_and_removes_what_was_fetched(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run_script("fetch_captures", cache) == "python -m maintaining.captures fetch"
    assert run_script("fetch_captures", cache, CAPTURES="off") == ""
    assert run_script("fetch_captures", cache, LIVE="all") == ""
    (cache / fetched_captures.NAME).touch()
    assert run_script("fetch_captures", cache, CAPTURES="off") == "python -m maintaining.captures forget"
    assert run_script("fetch_captures", cache, LIVE="all") == "python -m maintaining.captures forget"


@pytest.mark.skipif(os.name == "nt", reason="the scripts do not run on Windows")
def test_a_fetch_that_fails_stops_no_script(tmp_path: Path) -> None:
    assert run_script("in_project() { return 3; }; fetch_captures; echo goes on", tmp_path) == "goes on"


COMPILES_NOTHING = {"comment.yml", "failure.yml", "links.yml"}


def test_continuous_integration_uses_no_fetched_captures() -> None:
    lines = [(ROOT / ".ci" / "run").read_text(encoding="utf-8")]
    assert "\nexport CAPTURES=off" in lines[0]
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert path.name in COMPILES_NOTHING or '\nenv:\n  CAPTURES: "off"' in text, path.name
