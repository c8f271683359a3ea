"""The practice as one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect import main
from xla_inspect.practice.phases import CHECKED, PHASES
from xla_inspect.terminal import Paper

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize("status", [0, 1, 3])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--check",), ((), None)),
        (("--check", "basics/mlp", "jaxpr/follow"), (("basics/mlp", "jaxpr/follow"), None)),
        (("--check", "hlo/donate"), (("hlo/donate",), None)),
        (("--check", "hlo", "--exercises", "mine"), (("hlo",), Path("mine"))),
    ],
)
def test_check_marks_the_requested_exercises_and_sets_the_exit_status(
    arguments: tuple[str, ...],
    expected: tuple[tuple[str, ...], Path | None],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marked: list[tuple[tuple[str, ...], Path | None]] = []

    def run(names: Sequence[str], folder: Path | None) -> int:
        marked.append((tuple(names), folder))
        return status

    monkeypatch.setattr(main, "run_marking", run)
    assert main.main(arguments) == status
    assert marked == [expected]


def test_check_of_an_unknown_exercise_is_rejected_with_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--check", "fusion"]) == 2
    error_text = capsys.readouterr().err
    assert all(name in error_text for name in CHECKED)
    assert main.main(["--check", "donat"]) == 2
    assert "no phase and no exercise is called 'donat'; did you mean donate? The phases are" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "function", "expected"),
    [
        (["--hint"], "show_hint", ("all", None)),
        (["--hint", "mlp", "--exercises", "mine"], "show_hint", ("mlp", Path("mine"))),
        (["--solution", "hlo/donate"], "show_solution", ("hlo/donate", None)),
        (["--watch", "hlo"], "watch", ("hlo", None)),
        (["--watch"], "watch", ("all", None)),
        (["--list"], "list_exercises", (None,)),
    ],
)
def test_hints_solutions_the_list_and_the_watch_are_asked_for_by_name(
    words: list[str], function: str, expected: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[object, ...]] = []

    def note(*arguments: object) -> int:
        calls.append(tuple(argument for argument in arguments if not isinstance(argument, Paper)))
        return 0

    monkeypatch.setattr(main, function, note)
    assert main.main(words) == 0
    assert calls == [expected]


def test_help_names_a_command_for_each_phase_and_tells_of_flags_and_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert list(main.COMMANDS) == list(PHASES)
    for name, command in main.COMMANDS.items():
        assert f"python -m xla_inspect.{command} " in out
        assert f"{PHASES[name].title}, {PHASES[name].minutes} min" in out
    for words in ("$Env:XLA_FLAGS = ", "set XLA_FLAGS=", "JAX_PLATFORMS=cuda,cpu", "WSL 2"):
        assert words in out
