"""Captures as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from xla_inspect import Capture, InspectError
from xla_inspect.captured.storage import LineTable

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect import Captures

READ = """
import sys
sys.modules["jax"] = sys.modules["jaxlib"] = None
from pathlib import Path
from xla_inspect import Capture
for path in map(Path, sys.argv[1:]):
    found = Capture.from_json(path.read_text(encoding="utf-8"))
    print(found.target, found.module.name, found.passes[0].module.name)
"""


def test_a_capture_round_trips_through_json(layers: Captures) -> None:
    back = {target: Capture.from_json(layer.to_json()) for target, layer in layers.items()}
    assert back == dict(layers)
    assert [layer.identity for layer in back.values()] == [layer.identity for layer in layers.values()]


def test_an_uncached_capture_keeps_its_identity(layers: Captures) -> None:
    without_code = replace(layers["cpu"], after="")
    assert Capture.from_json(without_code.to_json()).identity == without_code.identity != layers["cpu"].identity


def test_json_shares_the_lines_of_the_passes(layers: Captures) -> None:
    capture = layers["h100"]
    lines = json.loads(capture.to_json())["lines"]
    assert len(lines) == len(set(lines))
    assert {line for change in capture.passes for line in change.text.split("\n")} <= set(lines)


def test_a_capture_is_read_without_jax(layers: Captures, tmp_path: Path) -> None:
    for target, layer in layers.items():
        (tmp_path / target).write_text(layer.to_json(), encoding="utf-8")
    command = [sys.executable, "-c", READ, *(str(tmp_path / target) for target in layers)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("".join(f"{name} jit_layer jit_layer\n" for name in layers), "")


@pytest.mark.parametrize("text", ["", "not JSON", "[]", "{}", '{"format":999}'])
def test_an_invalid_capture_is_rejected(text: str) -> None:
    with pytest.raises(InspectError):
        Capture.from_json(text)


def test_a_capture_with_a_missing_part_is_rejected(layers: Captures) -> None:
    record = json.loads(layers["cpu"].to_json())
    del record["thunks"]
    with pytest.raises(InspectError, match="damaged"):
        Capture.from_json(json.dumps(record))


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "a\nb\na\nb\n\nc", "\n\n\n"])
def test_a_line_table_round_trips(text: str) -> None:
    table = LineTable(["b", "a"])
    assert table.get(table.add(text)) == text
