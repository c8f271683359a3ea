"""Bar charts: numbers, lengths, lanes and missing targets."""

from __future__ import annotations

import re

import pytest

from chapters import bar_chart, buffer_slots
from xla_inspect.analysis import list_kernels
from xla_inspect.captured import Captures
from xla_inspect.report import chart_instructions, draw_timeline, format_bytes


def test_a_target_that_is_missing_is_named_in_each_chart(captures: Captures) -> None:
    partial = Captures({"cpu": captures["cpu"]}, {"tpu-v5e": "no"}, ("cpu", "tpu-v5e"))
    assert "TPU v5e not compiled here" in chart_instructions(partial)
    assert bar_chart.chart_kernels({"layer": partial}).count("<rect") == 1
    assert "layer, TPU v5e: not compiled here" in bar_chart.chart_kernels({"layer": partial})


def test_a_bar_is_as_long_as_its_number() -> None:
    chart = bar_chart.chart_bars({"a": {"cpu": 10, "h100": 40}, "b": {"cpu": 20}}, "Things counted", "things")
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', chart)]
    assert [width / widths[1] for width in widths] == pytest.approx([0.25, 1, 0.5], abs=0.01)


def test_bars_count_launches_and_bytes(captures: Captures) -> None:
    for target, capture in captures.items():
        name = {"cpu": "CPU", "h100": "NVIDIA H100", "tpu-v5e": "TPU v5e"}[target]
        assert f"<title>layer, {name}: {len(list_kernels(capture))}</title>" in bar_chart.chart_kernels(
            {"layer": captures}
        )
        moved = format_bytes(int(capture.cost.bytes_accessed))
        assert f"<title>layer, {name}: {moved}</title>" in bar_chart.chart_traffic({"layer": captures})


def test_values_of_one_buffer_are_in_one_lane() -> None:
    picture = buffer_slots.draw_slots({"A": (1, 2), "<B>": (1, 3), "D": (3, 5)}, {"A": 0, "<B>": 1, "D": 0}, "Shared")
    boxes = re.findall(r'<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"', picture)
    assert [y for _, y, _ in boxes] == [
        str(buffer_slots.HEAD + 3),
        str(buffer_slots.HEAD + buffer_slots.LANE + 3),
        str(buffer_slots.HEAD + 3),
    ]
    (start, _, width), _, (later, _, _) = boxes
    assert float(start) + float(width) <= float(later)
    assert "<B>" not in picture
    assert "D: needed from t3 to t5, in buffer 1" in picture


def test_a_timeline_names_the_kinds_of_memory_it_draws(captures: Captures) -> None:
    kinds = re.findall(r'<span class="key ([\w-]+)">', draw_timeline(captures["h100"]))
    assert kinds == ["parameter", "output", "temporary"]


def test_empty_data_draws_nothing() -> None:
    assert "<rect" not in bar_chart.chart_bars({}, "Nothing", "things")
    assert "<rect" not in bar_chart.chart_bars({"a": {"cpu": 0}}, "Nothing", "things")
    assert "<path" not in chart_instructions(Captures({}, {"cpu": "no"}, ("cpu",)))
