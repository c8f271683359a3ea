"""The measured costs of the programs of real size, and their plausibility."""

from __future__ import annotations

import re
from typing import Any

import pytest

import stamps
from common import ROOT
from measuring import scale

FILE = ROOT / "docs" / "data" / "scale.json"
ROWS = {row.name: row for row in scale.ROWS}

# Parameters, tokens of a batch, devices: six operations for each parameter and token, and two more where a layer is
# computed again for its gradient; attention and what is no product come on top. Of experts a token meets two of eight,
# and each has room for a quarter more than comes.
TRANSFORMERS = {
    "llama-7b-tpu": (6.74e9, 256 * 2048, 256, 8),
    "llama-7b-gpu": (6.74e9, 8 * 2048, 8, 8),
    "llama-70b-tpu": (68.98e9, 512 * 4096, 512, 8),
    "gpt2-gpu": (0.124e9, 8 * 1024, 1, 6),
    "gpt2-tpu": (0.124e9, 8 * 1024, 1, 6),
    "moe-tpu": (15.7e9, 256 * 2048, 64, 8),
    "ssm-gpu": (0.129e9, 8 * 1024, 1, 7.4),
    "ssm-tpu": (0.129e9, 8 * 1024, 1, 7.4),
}


def read() -> dict[str, Any]:
    rows: dict[str, Any] = stamps.read_sealed(FILE)["rows"]
    return rows


def test_the_measurements_are_labeled_rows_of_the_benchmark() -> None:
    for name, measured in read().items():
        row = ROWS[name]
        labels = [measured[part] for part in ("title", "program", "target", "mesh")]
        assert labels == [row.title, row.program, row.target, row.mesh]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
        assert set(measured["costs"]) > {"bare"}
        assert all(cost["processor"] > 0 and cost["peak"] > 0 for cost in measured["costs"].values())


def test_it_was_measured_of_the_versions_that_are_pinned() -> None:
    assert stamps.list_aged(stamps.read_sealed(FILE)["versions"]) == []


@pytest.mark.parametrize("name", sorted(TRANSFORMERS.keys() & read().keys()))
def test_as_many_operations_are_counted_as_parameters_and_tokens_ask_for(name: str) -> None:
    counts = read()[name]["counted"]
    parameters, tokens, devices, experts = TRANSFORMERS[name]
    assert 0.95 < counts["flops"] * devices / (experts * parameters * tokens) < 1.4


def cost(**figures: float) -> dict[str, float]:
    return {"wall": 1.0, "processor": 10.0, "peak": 1e9, "compiling": 9.0, "answering": 0.5, **figures}


@pytest.mark.parametrize(
    ("command", "figures", "fault"),
    [
        ("memory", {}, None),
        ("memory", {"processor": 11.2}, "memory takes 1.12 times the processor of JAX alone, and not 1.1"),
        ("show --stage passes", {"processor": 11.2}, None),
        ("summary", {"peak": 1.6e9}, "summary takes 1.60 times the memory of JAX alone, and not 1.5"),
        ("summary", {"answering": 3.0}, "summary answers 3.0 s after the compile, and not 2.0"),
        ("show --stage passes", {"answering": 3.0}, None),
    ],
)
def test_an_exceeded_limit_is_reported(command: str, figures: dict[str, float], fault: str | None) -> None:
    faults = scale.list_faults({"costs": {"bare": cost(), command: cost(**figures)}})
    assert faults == ([fault] if fault else [])


def test_an_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scale.main(["--only", "llama-8b"])
    assert "no row 'llama-8b'; there are llama-7b-tpu, " in capsys.readouterr().err
