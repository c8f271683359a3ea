"""Recorded runs, stored once for each version of their dependencies."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest

from chapters import recorded_runs
from xla_inspect import InspectError, targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COUNT = """
from recorded_beside import STEP
from pathlib import Path
LOG = Path(__file__).with_name("log")

def count():
    LOG.open("a").write("ran ")
    return {"steps": (STEP, 2)}

def unprintable():
    return object()
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], object]]:
    """A function that writes the two modules of a program into a folder and imports them again."""
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(main: str, beside: str) -> object:
        for name, text in (("recorded_main", main), ("recorded_beside", beside)):
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        sys.dont_write_bytecode = True
        return importlib.import_module("recorded_main")

    setting = sys.dont_write_bytecode
    yield write
    sys.dont_write_bytecode = setting
    for name in ("recorded_main", "recorded_beside"):
        sys.modules.pop(name, None)


def test_a_run_is_made_once_and_its_result_comes_back_as_json_has_it(
    load: Callable[..., object], tmp_path: Path
) -> None:
    program = load(COUNT, "STEP = 1")
    assert [recorded_runs.recall_run(program.count) for _ in range(2)] == [{"steps": [1, 2]}] * 2
    assert (tmp_path / "log").read_text(encoding="utf-8") == "ran "


@pytest.mark.parametrize(("main", "beside"), [(COUNT + "\n# more", "STEP = 1"), (COUNT, "STEP = 1 # more")])
def test_a_change_in_a_file_that_it_depends_on_runs_it_again(
    load: Callable[..., object], tmp_path: Path, main: str, beside: str
) -> None:
    recorded_runs.recall_run(load(COUNT, "STEP = 1\ndef f(): ...").count)
    recorded_runs.recall_run(load(main, beside).count)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "ran ran "


def test_a_result_that_is_not_json_is_rejected_with_the_functions_name(load: Callable[..., object]) -> None:
    with pytest.raises(InspectError, match=r"recorded_main\.unprintable returns a value that JSON cannot represent"):
        recorded_runs.recall_run(load(COUNT, "STEP = 1").unprintable)


def test_a_function_outside_of_a_module_is_rejected() -> None:
    with pytest.raises(InspectError, match="needs a function of a module"):
        recorded_runs.recall_run(lambda: 1)


@pytest.mark.parametrize("package", ["libtpu", "jax-cuda13-plugin"])
def test_a_compiler_that_is_installed_later_makes_it_run_again(
    load: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    program = load(COUNT, "STEP = 1")
    find = targets.find_version
    monkeypatch.setattr(targets, "find_version", lambda name: None if name == package else find(name))
    recorded_runs.recall_run(program.count)
    monkeypatch.setattr(targets, "find_version", lambda name: "1.2.3" if name == package else find(name))
    recorded_runs.recall_run(program.count)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "ran ran "
