"""The command that asks a chapter's question about the reader's own function."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chapters import console
from xla_inspect.commands import MISSING
from xla_inspect.errors import TargetUnavailableError

LAYER = "snippets/programs/layer.py:layer"


def test_the_command_names_the_readers_file_and_the_fold_has_what_it_prints_here() -> None:
    command, folded = console.show_question(f"kernels {LAYER} --target cpu --no-times").split("??? listing")
    assert command == "```sh\nxla-inspect kernels your_file.py:your_function --target cpu\n```\n\n"
    assert f"$ xla-inspect kernels {LAYER} --target cpu --no-times" in folded
    assert "layer on" in folded


def test_the_second_of_two_subjects_is_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "show_command", lambda *_, **__: "")
    assert "xla-inspect diff your_file.py:your_function your_other_file.py:your_function\n" in console.show_question(
        f"diff {LAYER} snippets/programs/mlp.py:mlp"
    )
    assert "xla-inspect recompiles run your_file.py --steps 4\n" in console.show_question(
        "recompiles run train.py --steps 4"
    )


def test_a_question_about_no_file_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'doctor' contains no FILE\.py"):
        console.show_question("doctor")


@pytest.mark.parametrize("options", ["--target h100", "--target cpu --against-target h100", "--against-target h100"])
def test_the_target_that_is_missing_here_is_named(monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    monkeypatch.setattr(console, "run_here", lambda *_: MISSING)
    monkeypatch.setattr(console, "find_target", lambda name: SimpleNamespace(obstacle="" if name == "cpu" else "none"))
    with pytest.raises(TargetUnavailableError, match=r"h100.*none"):
        console.read_output(f"xla-inspect diff {LAYER} {options}")
