"""`xla-inspect collectives` with the program's own mesh and with a given one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xla_inspect.commands import command_line

PROGRAMS = Path(__file__).resolve().parents[3] / "snippets" / "programs"


@pytest.mark.usefixtures("all_targets")
def test_the_target_has_as_many_devices_as_the_mesh(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["collectives", f"{PROGRAMS / 'exchange.py'}:exchange", "--target", "h100", "--json"]
    assert command_line.run_here(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["target"], answer["devices"], answer["mesh"]) == ("h100:8", 8, [["x", 8]])
    assert {exchange["kind"] for exchange in answer["exchanges"]} == {
        "all-gather",
        "all-reduce",
        "all-to-all",
        "collective-permute",
        "reduce-scatter",
    }
    assert all(exchange["is_asked"] and exchange["axes"] == ["x"] for exchange in answer["exchanges"])


@pytest.mark.usefixtures("all_targets")
def test_each_line_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["collectives", f"{PROGRAMS / 'exchange.py'}:exchange", "--target", "h100", "--target", "tpu-v5e"]
    assert command_line.run_here(arguments) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.usefixtures("all_targets")
def test_a_saved_capture_gives_the_same_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "exchange.xla.json"
    arguments = [
        "show",
        f"{PROGRAMS / 'exchange.py'}:exchange",
        "--target",
        "h100",
        "--stage",
        "capture",
        "-o",
        str(saved),
    ]
    assert command_line.run_here(arguments) == 0
    assert command_line.run_here(["collectives", str(saved)]) == 0
    assert "exchange on NVIDIA H100 x 8: 5 collectives" in " ".join(capsys.readouterr().out.split())
