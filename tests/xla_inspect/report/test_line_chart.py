"""The lines of a chart are at the places of their numbers, and their names do not overlap."""

from __future__ import annotations

import html
import itertools
import re
from typing import TYPE_CHECKING

import pytest

from xla_inspect.report import line_chart

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

SERIES = {"flat": {8: 1024, 64: 1024, 512: 1024}, "halving": {8: 4096, 64: 512}}


def lines(output: str) -> list[list[tuple[float, float]]]:
    paths = re.findall(r'<path d="M([^"]*)"', output)
    return [[(float(x), float(y)) for x, y in (point.split() for point in path.split("L"))] for path in paths]


def test_equal_ratios_are_equal_distances_on_both_scales() -> None:
    halving, flat = sorted(lines(line_chart.chart_growth(SERIES, "Bytes", "chips")), key=len)
    (first, _), (middle, _), (right, _) = flat
    assert abs((middle - first) - (right - middle)) < 0.2
    assert len({y for _, y in flat}) == 1
    assert halving[0][1] < flat[0][1] < halving[1][1]
    assert abs((flat[0][1] - halving[0][1]) - 2 * (halving[1][1] - flat[1][1])) < 0.2


def test_names_of_lines_do_not_cover_each_other() -> None:
    same = {name: {1: 100, 2: 100} for name in ("one", "two", "three")}
    heights = [
        float(y) for y in re.findall(r'<text x="264.0" y="([\d.]+)">', line_chart.chart_growth(same, "Bytes", "chips"))
    ]
    assert [b - a for a, b in itertools.pairwise(heights)] == [line_chart.LINE] * 2


def test_every_number_is_in_the_description() -> None:
    output = html.unescape(line_chart.chart_growth(SERIES, "Bytes of each", "chips"))
    assert "flat: 1 KiB on 8, 1 KiB on 64, 1 KiB on 512; halving: 4 KiB on 8, 512 B on 64" in output
    assert "<title>halving, 8: 4,096 bytes, 64: 512 bytes</title>" in output


@pytest.mark.usefixtures("all_targets")
def test_a_line_starts_and_ends_at_the_captures_counts(captures: Captures) -> None:
    output = line_chart.chart_instructions(captures)
    for capture in captures.values():
        first, last = capture.unoptimized_module.instruction_count(), capture.module.instruction_count()
        assert f"{len(capture.passes)} changes, from {first} to {last} instructions" in output
    assert len(re.findall('<path d="M', output)) == 3


def test_the_last_counts_do_not_cover_each_other(captures: Captures) -> None:
    heights = [
        float(y)
        for y in re.findall(r'<circle[^>]*/><text x="\d+" y="([\d.]+)"', line_chart.chart_instructions(captures))
    ]
    assert all(abs(a - b) >= line_chart.LINE for a in heights for b in heights if a is not b)


def test_a_line_over_releases_skips_missing_numbers_and_lists_all_others() -> None:
    output = line_chart.chart_releases(
        {"cpu": [3, None, 1], "tpu-v5e": [None, None, None]}, ["1.0", "1.1", "2.0"], "Launches"
    )
    assert output.count("<circle") == 2
    assert "CPU: 1.0 3, 1.1 none, 2.0 1" in output
    assert "TPU v5e: 1.0 none, 1.1 none, 2.0 none" in output
    assert output.count('<g class="') == 1


def test_names_of_releases_are_rotated_when_they_would_overlap() -> None:
    few, many = (
        line_chart.chart_releases({"cpu": range(count)}, [f"0.{number}.0.1" for number in range(count)], "Kernels")
        for count in (3, 12)
    )
    assert [(output.count("rotate("), output.count('class="soft"')) for output in (few, many)] == [
        (0, 3 + 3),
        (12, 12 + 3),
    ]
    heights = [int(re.search(r'viewBox="0 0 \d+ (\d+)"', output)[1]) for output in (few, many)]  # type: ignore[index]
    assert heights[1] > heights[0]


def test_names_at_the_bottom_stay_inside_the_area() -> None:
    output = line_chart.chart_releases({"cpu": [9, 0], "h100": [9, 0], "tpu-v5e": [9, 0]}, ["1.0", "1.1"], "Launches")
    heights = [float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)">(?:CPU|H100|TPU)', output)]
    zero = float(re.findall(r'<line class="axis"[^>]* y2="([\d.]+)"', output)[0])
    assert [round(zero + 3.5 - y, 1) for y in heights] == [2 * line_chart.LINE, line_chart.LINE, 0]


@pytest.mark.parametrize("values", [[1], [0, 0], [3, 1, 2]])
def test_a_sparkline_has_a_point_for_each_value(values: list[int]) -> None:
    (points,) = re.findall(r'<polyline points="([^"]*)"', line_chart.sparkline(values, "Values"))
    assert len(points.split()) == len(values)
