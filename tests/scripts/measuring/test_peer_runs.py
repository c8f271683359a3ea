"""`scripts/peers` detects and explains every planted change, and lists compilers that did not run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from common import ROOT
from measuring import peer_runs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("other compilers are installed and run")

SMALL = '''# /// script
# requires-python = ">=3.12"
# dependencies = []
# ///
"""Writes a record without any package."""
import sys
from pathlib import Path
sys.path.append(str(Path(__file__).resolve().parents[2]))
from peers import records
folder = Path(__file__).parent
Path(sys.argv[1]).write_text(records.render({"script": records.hash_script(folder), "versions": {"one": "1.0"},
    "texts": {"layer": ["add", "relu"]}}), encoding="utf-8")
'''


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with one small compiler, which needs no package, and its record; returns the compiler's folder."""
    for name in ("snippets/peers", "scripts/common", "scripts/measuring"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "snippets" / "xla_inspect").mkdir()
    for name in ("stamps.py", "xla_inspect/closure.py"):
        shutil.copy(ROOT / "snippets" / name, tmp_path / "snippets" / name)
    folder = tmp_path / "snippets" / "peers" / "small"
    folder.mkdir()
    (folder / "run.py").write_text(SMALL, encoding="utf-8")
    ended = run(tmp_path, "small", "--update")
    assert "small: record rewritten: there was none" in ended.stdout, ended.stdout + ended.stderr
    return folder


def run(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "measuring.peer_runs", *arguments],
        cwd=project,
        # pip is slow to say where it finds wheels
        env={**os.environ, "PYTHONPATH": f"{project}/scripts:{project}/snippets", "UV_FIND_LINKS": "", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def project_of(folder: Path) -> Path:
    return folder.parents[2]


def test_a_record_that_agrees_is_said_to(small: Path) -> None:
    ended = run(project_of(small), "small")
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "agrees with its record: small")


def test_a_change_in_a_script_that_changes_nothing_else_is_named(small: Path) -> None:
    (small / "run.py").write_text(SMALL + "# changed\n", encoding="utf-8")
    ended = run(project_of(small), "small")
    assert ended.returncode == 1
    assert "another script: what decides on the record was changed since it was written" in ended.stdout
    assert (
        ended.stdout.splitlines()[-1]
        == "Where a difference is meant, `scripts/peers NAME --update` rewrites the record."
    )


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ('"relu"', '"maximum"', {'-   "relu"', '+   "maximum"'}),
        ('"1.0"', '"1.1"', {'-  "one": "1.0"', '+  "one": "1.1"'}),
    ],
)
def test_a_change_in_what_a_script_prints_or_of_a_version_is_shown_as_lines(
    small: Path, old: str, new: str, lines: set[str]
) -> None:
    replace(small / "run.py", old, new)
    ended = run(project_of(small), "small")
    assert ended.returncode == 1
    assert lines <= {line.strip() for line in ended.stdout.splitlines()}


@pytest.mark.parametrize(("old", "new"), [('"relu"', '"maximum"'), ('"1.0"', '"2.0"')])
def test_a_change_in_a_record_is_named(small: Path, old: str, new: str) -> None:
    replace(small / "record.json", old, new)
    ended = run(project_of(small), "small")
    assert ended.returncode == 1
    assert "the record was changed by hand" in ended.stdout
    assert f"-  {new}" in ended.stdout.replace('  "one": ', "  ").replace("   ", "  ")


def test_an_update_writes_the_record_and_shows_what_changed(small: Path) -> None:
    replace(small / "run.py", '"relu"', '"maximum"')
    ended = run(project_of(small), "small", "--update")
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "record rewritten: small")
    assert json.loads((small / "record.json").read_text(encoding="utf-8"))["texts"] == {"layer": ["add", "maximum"]}
    assert '+   "maximum"' in ended.stdout
    assert run(project_of(small), "small").returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "variables", "why"),
    [
        ("dependencies = []", 'dependencies = ["numpy==0.0.1"]', {}, "uv could not install it:\n.*numpy==0.0.1"),
        (
            '# ///\n"',
            '# [tool.peers]\n# needs = ["no-such-compiler"]\n# ///\n"',
            {},
            "it needs no-such-compiler on PATH",
        ),
        ("dependencies", "dependencies", {"UV": "no-such-uv"}, "it needs no-such-uv on PATH"),
    ],
)
def test_what_cannot_be_installed_or_needs_a_missing_program_is_named_as_not_run(
    small: Path, old: str, new: str, variables: dict[str, str], why: str
) -> None:
    replace(small / "run.py", old, new)
    ended = run(project_of(small), "small", **variables)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (3, "NOT RUN: small")
    assert re.search(f"small: NOT RUN: {why}", ended.stdout, re.DOTALL)


def test_a_script_that_fails_is_named_with_its_message(small: Path) -> None:
    replace(
        small / "run.py", "from peers import records\n", "from peers import records\nraise SystemExit('no target')\n"
    )
    ended = run(project_of(small), "small")
    assert ended.returncode == 1
    assert "small: failed: exit status 1:\n    no target\n" in ended.stdout


def test_what_the_time_was_too_short_for_is_named_as_not_run(small: Path) -> None:
    ended = run(project_of(small), "small", "--within", "-1")
    assert ended.returncode == 3
    assert "small: NOT RUN: the -1 seconds of --within were over" in ended.stdout


def test_a_difference_weighs_more_than_what_was_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = peer_runs.PeerVerdict
    outcomes = [peer_runs.PeerOutcome("a", verdicts.NOT_RUN), peer_runs.PeerOutcome("b", verdicts.DIFFERS)]
    assert peer_runs.report_outcomes(outcomes) == 1
    assert capsys.readouterr().out.splitlines()[:2] == ["differs from its record: b", "NOT RUN: a"]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    ended = run(ROOT, "tmv")
    assert ended.returncode == 2
    assert "no compiler is named tmv; there are " in ended.stderr
    assert "onnxruntime" in ended.stderr


def test_only_the_start_of_a_long_difference_is_printed() -> None:
    old, new = ({"texts": {"t": [f"{word} {n}" for n in range(200)]}} for word in ("old", "new"))
    described = peer_runs.describe_difference(json.dumps(old), json.dumps(new)).splitlines()
    assert len(described) == peer_runs.LONGEST + 2
    assert described[-1].endswith(" lines more")
