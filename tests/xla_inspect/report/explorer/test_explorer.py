"""The explorer's data agrees with the capture, is small, and is safe in a page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from programs import transformer_block_grad as trained
from xla_inspect import Capture, Captures, capture, capture_all
from xla_inspect.analysis import follow_passes
from xla_inspect.report import print_instruction
from xla_inspect.report.explorer import data, standalone_page, static_files
from xla_inspect.report.explorer.data import describe_capture, describe_details
from xla_inspect.report.explorer.row_data import read_edit, read_rows

LIMIT = 100 * 1000  # bytes of data, compressed, for one target of the largest program

pytestmark = pytest.mark.usefixtures("all_targets")


def test_each_state_has_the_instructions_of_its_module(captures: Captures) -> None:
    for result in captures.values():
        data = describe_capture(result)
        modules = [state.module for state in follow_passes(result)]
        numbers: list[int] = []
        for state, module in zip(data["states"], modules, strict=True):
            numbers = read_edit(numbers, state["computations"])
            texts = [text for number in numbers for text in read_texts(data, number)]
            hidden = {"metadata", "backend_config", "frontend_attributes"}
            expected = [
                print_instruction(item, hidden) for computation in reversed(module.computations) for item in computation
            ]
            assert texts == expected


def read_texts(data: dict[str, Any], number: int) -> list[str]:
    rows = read_rows(data["rows"])
    return [data["texts"][rows[at][1]] for at in read_numbers(data["computations"], number)]


def read_numbers(computations: list[Any], number: int) -> list[int]:
    _, _, base, edit = computations[number]
    return read_edit(read_numbers(computations, base) if base >= 0 else [], edit)


class Forgetful(dict[Any, Any]):
    """A dictionary that stores nothing."""

    def __setitem__(self, key: object, value: object) -> None:
        """Discard the value."""


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_the_data_is_the_same_if_modules_share_nothing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = capture(trained.transformer_block_grad, *trained.EXAMPLE, target=target)
    shared = describe_capture(result)
    monkeypatch.setattr("xla_inspect.hlo.parser._computations", Forgetful())
    monkeypatch.setattr("xla_inspect.hlo.parser._instructions", Forgetful())
    alone = Capture.from_json(result.to_json())
    assert alone.module.entry is not Capture.from_json(result.to_json()).module.entry
    assert describe_capture(alone) == shared


def test_the_runs_add_up(captures: Captures) -> None:
    for result in captures.values():
        runs = describe_capture(result)["runs"]
        assert sum(number for _, number, _ in runs) == len(result.runs)
        assert sum(changes for _, _, changes in runs) == sum(run.changed for run in result.runs)


def test_a_training_step_takes_at_most_a_hundred_kilobytes_a_target() -> None:
    for result in capture_all(trained.transformer_block_grad, *trained.EXAMPLE).values():
        data = json.dumps(describe_capture(result), separators=(",", ":"))
        assert len(gzip.compress(data.encode(), 9)) < LIMIT


def test_the_scripts_are_at_most_a_hundred_and_fifty_kilobytes() -> None:
    assert (
        sum(
            len(gzip.compress(static_files.read_asset(name).encode(), 9))
            for name in (*static_files.SCRIPTS, *static_files.LATER, static_files.STYLE)
        )
        < 150 * 1000
    )


def test_html_in_names_is_escaped() -> None:
    hostile = "</script><img src=x onerror=alert(1)><!--"

    def program(x: jax.Array) -> jax.Array:
        with jax.named_scope(hostile):
            return jnp.sin(x) @ x

    program.__name__ = hostile
    result = capture(program, jax.ShapeDtypeStruct((8, 8), jnp.float32))
    text = standalone_page.write_report(Captures({"cpu": result}, {"h100": hostile}, ("cpu", "h100")))
    assert "<img" not in text
    expected = [describe_capture(result, code=True, bundles=True), describe_details(result, code=True, bundles=True)]
    data = re.findall(r'<script type="application/json"[^>]*>([^<]*)</script>', text)
    assert [json.loads(item) for item in data] == json.loads(json.dumps(expected))


def test_the_page_loads_no_other_file(captures: Captures) -> None:
    text = standalone_page.write_report(captures)
    assert "default-src 'none'" in text
    assert [mark for mark in ("src=", "href=", "@import", "url(") if mark in text] == []


def test_a_report_compresses_large_data_and_does_not_repeat_its_texts(
    captures: Captures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standalone_page, "SOME", 1 << 30)
    whole = standalone_page.write_report(captures)
    monkeypatch.setattr(standalone_page, "LARGE", 1000)
    monkeypatch.setattr(standalone_page, "SOME", 1000)
    packed = standalone_page.write_report(captures)
    assert len(packed) < 0.7 * len(whole)
    texts = re.findall(r'<script type="application/json" [^>]*data-packed="gzip">([^<]*)</script>', packed)
    unpacked = [json.loads(gzip.decompress(base64.b64decode(text))) for text in texts]
    output = {"code": True, "bundles": True}
    expected = [
        describe(result, **output) for result in captures.values() for describe in (describe_capture, describe_details)
    ]
    assert unpacked == json.loads(json.dumps(expected))
    assert "HloModule" not in packed.partition("<noscript>")[2].partition("</noscript>")[0]


def test_a_long_report_logs_its_progress(
    captures: Captures, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(data, "SOON", -1.0)
    with caplog.at_level("INFO", logger="xla_inspect"):
        describe_capture(captures["cpu"])
    assert "writing the changes of the passes to layer for cpu" in caplog.text
